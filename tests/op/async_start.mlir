// Also: async_done
//
// async_start, async_done: a value that comes later is the same value.

func.func @sliced() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<3xi64>):
    %0 = stablehlo.slice %y [1:3] : (tensor<3xi64>) -> tensor<2xi64>
    stablehlo.return %0 : tensor<2xi64>
  }) : (tensor<3xi64>) -> !stablehlo.future<tensor<2xi64>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>
  check.expect_eq_const %r, dense<[2, 3]> : tensor<2xi64>
  func.return
}

func.func private @p(%x: tensor<1xi64>) -> tensor<2xi64> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<1xi64>):
    %0 = "stablehlo.all_gather"(%y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
      : (tensor<1xi64>) -> tensor<2xi64>
    stablehlo.return %0 : tensor<2xi64>
  }) : (tensor<1xi64>) -> !stablehlo.future<tensor<2xi64>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>
  func.return %r : tensor<2xi64>
}

func.func @gathered() {
  %a = stablehlo.constant dense<[1]> : tensor<1xi64>
  %b = stablehlo.constant dense<[2]> : tensor<1xi64>
  %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@p], [@p]]}
    : (tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[1, 2]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[1, 2]> : tensor<2xi64>
  func.return
}
