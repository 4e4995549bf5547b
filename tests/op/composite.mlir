// composite: what its decomposition computes.

func.func private @impl(%x: tensor<i64>, %y: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.subtract %x, %y : tensor<i64>
  func.return %0, %x : tensor<i64>, tensor<i64>
}

func.func @decomposed() {
  %a = stablehlo.constant dense<5> : tensor<i64>
  %b = stablehlo.constant dense<3> : tensor<i64>
  %0:2 = stablehlo.composite "vendor.op" %a, %b {
    composite_attributes = {n = 2 : i64},
    decomposition = @impl,
    version = 1 : i32
  } : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  check.expect_eq_const %0#0, dense<2> : tensor<i64>
  check.expect_eq_const %0#1, dense<5> : tensor<i64>
  func.return
}
