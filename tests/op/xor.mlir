// xor: bit by bit.

// Signed and unsigned alike.
func.func @integers() {
  %x0 = stablehlo.constant dense<[12, -1, -2147483648]> : tensor<3xi32>
  %y0 = stablehlo.constant dense<[10, 2147483647, -2]> : tensor<3xi32>
  %r0 = stablehlo.xor %x0, %y0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[6, -2147483648, 2147483646]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[9223372036854775809, 255]> : tensor<2xui64>
  %y1 = stablehlo.constant dense<[9223372036854775808, 4080]> : tensor<2xui64>
  %r1 = stablehlo.xor %x1, %y1 : tensor<2xui64>
  check.expect_eq_const %r1, dense<[1, 3855]> : tensor<2xui64>
  %x2 = stablehlo.constant dense<[-86, 15]> : tensor<2xi8>
  %y2 = stablehlo.constant dense<[85, -16]> : tensor<2xi8>
  %r2 = stablehlo.xor %x2, %y2 : tensor<2xi8>
  check.expect_eq_const %r2, dense<[-1, -1]> : tensor<2xi8>
  %x3 = stablehlo.constant dense<[-4, 5]> : tensor<2xi4>
  %y3 = stablehlo.constant dense<[6, 3]> : tensor<2xi4>
  %r3 = stablehlo.xor %x3, %y3 : tensor<2xi4>
  check.expect_eq_const %r3, dense<[-6, 6]> : tensor<2xi4>
  %x4 = stablehlo.constant dense<[12, 15]> : tensor<2xui4>
  %y4 = stablehlo.constant dense<[10, 5]> : tensor<2xui4>
  %r4 = stablehlo.xor %x4, %y4 : tensor<2xui4>
  check.expect_eq_const %r4, dense<[6, 10]> : tensor<2xui4>
  %x5 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %y5 = stablehlo.constant dense<[-1, -1]> : tensor<2xi2>
  %r5 = stablehlo.xor %x5, %y5 : tensor<2xi2>
  check.expect_eq_const %r5, dense<[1, -2]> : tensor<2xi2>
  %x6 = stablehlo.constant dense<[2, 3]> : tensor<2xui2>
  %y6 = stablehlo.constant dense<[1, 2]> : tensor<2xui2>
  %r6 = stablehlo.xor %x6, %y6 : tensor<2xui2>
  check.expect_eq_const %r6, dense<[3, 1]> : tensor<2xui2>
  func.return
}

// -----

// Booleans.
func.func @booleans() {
  %x = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %r = stablehlo.xor %x, %y : tensor<4xi1>
  check.expect_eq_const %r, dense<[false, true, true, false]> : tensor<4xi1>
  func.return
}
