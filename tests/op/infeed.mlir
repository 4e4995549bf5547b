// Also: outfeed
//
// infeed, outfeed: each process reads the whole infeed.

func.func private @one() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

func.func private @two() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

func.func private @p(%t: !stablehlo.token) -> tensor<2xi64> {
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %1:2 = "stablehlo.infeed"(%0#1) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %2 = stablehlo.subtract %1#0, %0#0 : tensor<2xi64>
  %3 = "stablehlo.outfeed"(%2, %1#1) : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  func.return %2 : tensor<2xi64>
}

func.func @main() {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "interpreter.run_parallel"(%t, %t) {infeed = [@one, @two], programs = [[@p], [@p]]}
    : (!stablehlo.token, !stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[2, 2]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[2, 2]> : tensor<2xi64>
  func.return
}
