// not: bit by bit.

// Signed and unsigned.
func.func @integers() {
  %x0 = stablehlo.constant dense<[0, 5, -2147483648]> : tensor<3xi32>
  %r0 = stablehlo.not %x0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[-1, -6, 2147483647]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[0, 5]> : tensor<2xui64>
  %r1 = stablehlo.not %x1 : tensor<2xui64>
  check.expect_eq_const %r1, dense<[18446744073709551615, 18446744073709551610]> : tensor<2xui64>
  %x2 = stablehlo.constant dense<[15]> : tensor<1xui8>
  %r2 = stablehlo.not %x2 : tensor<1xui8>
  check.expect_eq_const %r2, dense<[240]> : tensor<1xui8>
  %x3 = stablehlo.constant dense<[-8, 0]> : tensor<2xi4>
  %r3 = stablehlo.not %x3 : tensor<2xi4>
  check.expect_eq_const %r3, dense<[7, -1]> : tensor<2xi4>
  %x4 = stablehlo.constant dense<[5]> : tensor<1xui4>
  %r4 = stablehlo.not %x4 : tensor<1xui4>
  check.expect_eq_const %r4, dense<[10]> : tensor<1xui4>
  %x5 = stablehlo.constant dense<[1, -1]> : tensor<2xi2>
  %r5 = stablehlo.not %x5 : tensor<2xi2>
  check.expect_eq_const %r5, dense<[-2, 0]> : tensor<2xi2>
  %x6 = stablehlo.constant dense<[1, 0]> : tensor<2xui2>
  %r6 = stablehlo.not %x6 : tensor<2xui2>
  check.expect_eq_const %r6, dense<[2, 3]> : tensor<2xui2>
  func.return
}

// -----

// Booleans; an empty tensor of them.
func.func @booleans() {
  %x0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r0 = stablehlo.not %x0 : tensor<2xi1>
  check.expect_eq_const %r0, dense<[false, true]> : tensor<2xi1>
  %none = stablehlo.constant dense<> : tensor<3x0xi1>
  %s = stablehlo.not %none : tensor<3x0xi1>
  check.expect_eq_const %s, dense<> : tensor<3x0xi1>
  func.return
}
