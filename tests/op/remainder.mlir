// remainder: has the sign of the dividend, of which it is the rest after division towards zero.

// By zero, the dividend is left.
func.func @integers() {
  %x0 = stablehlo.constant dense<[7, -7, 7, -7, 5, -2147483648]> : tensor<6xi32>
  %y0 = stablehlo.constant dense<[3, 3, -3, -3, 0, -1]> : tensor<6xi32>
  %r0 = stablehlo.remainder %x0, %y0 : tensor<6xi32>
  check.expect_eq_const %r0, dense<[1, -1, 1, -1, 5, 0]> : tensor<6xi32>
  %x1 = stablehlo.constant dense<[18446744073709551615, 9]> : tensor<2xui64>
  %y1 = stablehlo.constant dense<[10, 0]> : tensor<2xui64>
  %r1 = stablehlo.remainder %x1, %y1 : tensor<2xui64>
  check.expect_eq_const %r1, dense<[5, 9]> : tensor<2xui64>
  %x2 = stablehlo.constant dense<[-32768, 100]> : tensor<2xi16>
  %y2 = stablehlo.constant dense<[7, -7]> : tensor<2xi16>
  %r2 = stablehlo.remainder %x2, %y2 : tensor<2xi16>
  check.expect_eq_const %r2, dense<[-1, 2]> : tensor<2xi16>
  %x3 = stablehlo.constant dense<[-8, 7, -3]> : tensor<3xi4>
  %y3 = stablehlo.constant dense<[-1, -2, 0]> : tensor<3xi4>
  %r3 = stablehlo.remainder %x3, %y3 : tensor<3xi4>
  check.expect_eq_const %r3, dense<[0, 1, -3]> : tensor<3xi4>
  %x4 = stablehlo.constant dense<[3, 2]> : tensor<2xui2>
  %y4 = stablehlo.constant dense<[2, 0]> : tensor<2xui2>
  %r4 = stablehlo.remainder %x4, %y4 : tensor<2xui2>
  check.expect_eq_const %r4, dense<[1, 2]> : tensor<2xui2>
  func.return
}

// -----

// Exact for every quotient.
func.func @floats() {
  %x0 = stablehlo.constant dense<[5.5, -5.5, 5.5, 1.0e+30, 0.3]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[2.0, 2.0, -2.0, 7.0, 0.1]> : tensor<5xf32>
  %r0 = stablehlo.remainder %x0, %y0 : tensor<5xf32>
  check.expect_eq_const %r0, dense<[1.5, -1.5, 1.5, 1.0, 7.450581e-09]> : tensor<5xf32>
  %x1 = stablehlo.constant dense<[1.0e+300, -0.7]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[3.0, 0.2]> : tensor<2xf64>
  %r1 = stablehlo.remainder %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.0, -0.09999999999999992]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[100.0, -1.5]> : tensor<2xbf16>
  %y2 = stablehlo.constant dense<[7.0, 0.40625]> : tensor<2xbf16>
  %r2 = stablehlo.remainder %x2, %y2 : tensor<2xbf16>
  check.expect_eq_const %r2, dense<[2.0, -0.28125]> : tensor<2xbf16>
  %x3 = stablehlo.constant dense<[13.0, -2.5]> : tensor<2xf8E4M3>
  %y3 = stablehlo.constant dense<[3.0, 1.5]> : tensor<2xf8E4M3>
  %r3 = stablehlo.remainder %x3, %y3 : tensor<2xf8E4M3>
  check.expect_eq_const %r3, dense<[1.0, -1.0]> : tensor<2xf8E4M3>
  func.return
}

// -----

// No rest of infinity, nor by zero; -6 leaves -0.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0x7F800000, 1.0, 1.0, 0x7FC00000, -2.0]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[2.0, 0.0, 0x7F800000, 1.0, 0xFF800000]> : tensor<5xf32>
  %r0 = stablehlo.remainder %x0, %y0 : tensor<5xf32>
  check.expect_almost_eq_const %r0, dense<[0x7FC00000, 0x7FC00000, 1.0, 0x7FC00000, -2.0]> : tensor<5xf32>, tolerance = 0.0
  %zx = stablehlo.constant dense<[-6.0, 6.0, -0.0]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[3.0, -3.0, 1.0]> : tensor<3xf32>
  %z = stablehlo.remainder %zx, %zy : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000, 0x80000000]> : tensor<3xui32>
  func.return
}
