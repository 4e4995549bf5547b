// cross-replica-sum: all_reduce with add.

func.func private @p(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
    : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %0 : tensor<2xbf16>
}

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[0.5, 256.0]> : tensor<2xbf16>
  %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@p], [@p]]}
    : (tensor<2xbf16>, tensor<2xbf16>) -> (tensor<2xbf16>, tensor<2xbf16>)
  check.expect_eq_const %r#0, dense<[1.5, 258.0]> : tensor<2xbf16>
  check.expect_eq_const %r#1, dense<[1.5, 258.0]> : tensor<2xbf16>
  func.return
}
