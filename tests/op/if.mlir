// if: one of two regions, which see the values around them.

func.func @branches() {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0:2 = "stablehlo.if"(%true) ({
    %1 = stablehlo.add %x, %x : tensor<2xi32>
    stablehlo.return %1, %x : tensor<2xi32>, tensor<2xi32>
  }, {
    stablehlo.return %x, %x : tensor<2xi32>, tensor<2xi32>
  }) : (tensor<i1>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %0#1, dense<[1, 2]> : tensor<2xi32>
  %2 = "stablehlo.if"(%false) ({
    stablehlo.return %x : tensor<2xi32>
  }, {
    %3 = stablehlo.multiply %x, %0#0 : tensor<2xi32>
    stablehlo.return %3 : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[2, 8]> : tensor<2xi32>
  func.return
}
