// subtract: integers wrap.

// Integers wrap around at the ends of their type.
func.func @integers() {
  %x0 = stablehlo.constant dense<[1, -2147483648, 0]> : tensor<3xi32>
  %y0 = stablehlo.constant dense<[2, 1, -2147483648]> : tensor<3xi32>
  %r0 = stablehlo.subtract %x0, %y0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[-1, 2147483647, -2147483648]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[0, 5]> : tensor<2xui64>
  %y1 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
  %r1 = stablehlo.subtract %x1, %y1 : tensor<2xui64>
  check.expect_eq_const %r1, dense<[18446744073709551615, 2]> : tensor<2xui64>
  %x2 = stablehlo.constant dense<[3, 15]> : tensor<2xui4>
  %y2 = stablehlo.constant dense<[5, 1]> : tensor<2xui4>
  %r2 = stablehlo.subtract %x2, %y2 : tensor<2xui4>
  check.expect_eq_const %r2, dense<[14, 14]> : tensor<2xui4>
  %x3 = stablehlo.constant dense<[-128, 100]> : tensor<2xi8>
  %y3 = stablehlo.constant dense<[1, -100]> : tensor<2xi8>
  %r3 = stablehlo.subtract %x3, %y3 : tensor<2xi8>
  check.expect_eq_const %r3, dense<[127, -56]> : tensor<2xi8>
  %x4 = stablehlo.constant dense<[-2, 0]> : tensor<2xi2>
  %y4 = stablehlo.constant dense<[1, -2]> : tensor<2xi2>
  %r4 = stablehlo.subtract %x4, %y4 : tensor<2xi2>
  check.expect_eq_const %r4, dense<[1, -2]> : tensor<2xi2>
  func.return
}

// -----

// Differences of neighbours are exact.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.5, 1.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %y0 = stablehlo.constant dense<[-0.25, 0.99999994, 0x7F800000, 1.0]> : tensor<4xf32>
  %r0 = stablehlo.subtract %x0, %y0 : tensor<4xf32>
  check.expect_almost_eq_const %r0, dense<[1.75, 5.9604645e-08, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>, tolerance = 0.0
  %x1 = stablehlo.constant dense<[0.3, -1.0e+308]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[0.1, 1.0e+308]> : tensor<2xf64>
  %r1 = stablehlo.subtract %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.19999999999999998, 0xFFF0000000000000]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[2.048e+03, 1.0]> : tensor<2xf16>
  %y2 = stablehlo.constant dense<[1.0, 0.00049]> : tensor<2xf16>
  %r2 = stablehlo.subtract %x2, %y2 : tensor<2xf16>
  check.expect_eq_const %r2, dense<[2.047e+03, 0.9995]> : tensor<2xf16>
  %x3 = stablehlo.constant dense<[1.0, -57344.0]> : tensor<2xf8E5M2FNUZ>
  %y3 = stablehlo.constant dense<[1.0, 57344.0]> : tensor<2xf8E5M2FNUZ>
  %r3 = stablehlo.subtract %x3, %y3 : tensor<2xf8E5M2FNUZ>
  check.expect_almost_eq_const %r3, dense<[0.0, 0x80]> : tensor<2xf8E5M2FNUZ>, tolerance = 0.0
  func.return
}

// -----

// Equal numbers leave +0; -0 only what -0 - 0 does.
func.func @zeros() {
  %zx = stablehlo.constant dense<[1.0, -0.0, 0.0, -0.0]> : tensor<4xf64>
  %zy = stablehlo.constant dense<[1.0, 0.0, -0.0, -0.0]> : tensor<4xf64>
  %z = stablehlo.subtract %zx, %zy : tensor<4xf64>
  %bits = stablehlo.bitcast_convert %z : (tensor<4xf64>) -> tensor<4xui64>
  check.expect_eq_const %bits, dense<[0x0000000000000000, 0x8000000000000000, 0x0000000000000000,
                                      0x0000000000000000]> : tensor<4xui64>
  func.return
}

// -----

// Complex numbers, part by part.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, -2.0), (0.5, 0.5)]> : tensor<2xcomplex<f64>>
  %y0 = stablehlo.constant dense<[(0.25, 4.0), (0.5, -0.5)]> : tensor<2xcomplex<f64>>
  %r0 = stablehlo.subtract %x0, %y0 : tensor<2xcomplex<f64>>
  check.expect_eq_const %r0, dense<[(0.75, -6.0), (0.0, 1.0)]> : tensor<2xcomplex<f64>>
  func.return
}
