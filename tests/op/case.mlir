// case: the region at the index; any other index stands for the last region.

func.func private @pick(%i: tensor<i32>) -> tensor<i64> {
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.constant dense<10> : tensor<i64>
    stablehlo.return %0 : tensor<i64>
  }, {
    %0 = stablehlo.constant dense<11> : tensor<i64>
    stablehlo.return %0 : tensor<i64>
  }, {
    %0 = stablehlo.constant dense<12> : tensor<i64>
    stablehlo.return %0 : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  func.return %r : tensor<i64>
}

func.func @indices() {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %r0 = func.call @pick(%0) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r0, dense<10> : tensor<i64>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %r1 = func.call @pick(%1) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r1, dense<11> : tensor<i64>
  %above = stablehlo.constant dense<3> : tensor<i32>
  %r3 = func.call @pick(%above) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r3, dense<12> : tensor<i64>
  %below = stablehlo.constant dense<-1> : tensor<i32>
  %r4 = func.call @pick(%below) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r4, dense<12> : tensor<i64>
  func.return
}
