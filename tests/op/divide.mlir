// divide: integers truncate towards zero; what is divided by zero has all bits set.

// Towards zero; by zero; and the one quotient that does not fit.
func.func @integers() {
  %x0 = stablehlo.constant dense<[7, -7, 7, -7, 5, -2147483648]> : tensor<6xi32>
  %y0 = stablehlo.constant dense<[2, 2, -2, -2, 0, -1]> : tensor<6xi32>
  %r0 = stablehlo.divide %x0, %y0 : tensor<6xi32>
  check.expect_eq_const %r0, dense<[3, -3, -3, 3, -1, -2147483648]> : tensor<6xi32>
  %x1 = stablehlo.constant dense<[-9223372036854775808, -9223372036854775808, -1]> : tensor<3xi64>
  %y1 = stablehlo.constant dense<[-1, 1, 0]> : tensor<3xi64>
  %r1 = stablehlo.divide %x1, %y1 : tensor<3xi64>
  check.expect_eq_const %r1, dense<[-9223372036854775808, -9223372036854775808, -1]> : tensor<3xi64>
  %x2 = stablehlo.constant dense<[255, 7, 0]> : tensor<3xui8>
  %y2 = stablehlo.constant dense<[2, 0, 0]> : tensor<3xui8>
  %r2 = stablehlo.divide %x2, %y2 : tensor<3xui8>
  check.expect_eq_const %r2, dense<[127, 255, 255]> : tensor<3xui8>
  %x3 = stablehlo.constant dense<[-128, -128]> : tensor<2xi8>
  %y3 = stablehlo.constant dense<[-1, 3]> : tensor<2xi8>
  %r3 = stablehlo.divide %x3, %y3 : tensor<2xi8>
  check.expect_eq_const %r3, dense<[-128, -42]> : tensor<2xi8>
  %x4 = stablehlo.constant dense<[-8, 7, 1]> : tensor<3xi4>
  %y4 = stablehlo.constant dense<[-1, -2, 0]> : tensor<3xi4>
  %r4 = stablehlo.divide %x4, %y4 : tensor<3xi4>
  check.expect_eq_const %r4, dense<[-8, -3, -1]> : tensor<3xi4>
  %x5 = stablehlo.constant dense<[15, 9]> : tensor<2xui4>
  %y5 = stablehlo.constant dense<[4, 0]> : tensor<2xui4>
  %r5 = stablehlo.divide %x5, %y5 : tensor<2xui4>
  check.expect_eq_const %r5, dense<[3, 15]> : tensor<2xui4>
  func.return
}

// -----

// Rounded once, also where the quotient is subnormal.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.0, -1.0, 1.0e-38, 3.0e+38]> : tensor<4xf32>
  %y0 = stablehlo.constant dense<[3.0, 4.0, 100000.0, 1.0e-05]> : tensor<4xf32>
  %r0 = stablehlo.divide %x0, %y0 : tensor<4xf32>
  check.expect_eq_const %r0, dense<[0.33333334, -0.25, 1.0e-43, 0x7F800000]> : tensor<4xf32>
  %x1 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[3.0, -7.0]> : tensor<2xf64>
  %r1 = stablehlo.divide %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.3333333333333333, -0.2857142857142857]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %y2 = stablehlo.constant dense<[3.0]> : tensor<1xbf16>
  %r2 = stablehlo.divide %x2, %y2 : tensor<1xbf16>
  check.expect_eq_const %r2, dense<[0.33398438]> : tensor<1xbf16>
  %x3 = stablehlo.constant dense<[1.0, 448.0, 1.0]> : tensor<3xf8E4M3FN>
  %y3 = stablehlo.constant dense<[3.0, 0.5, 0.0]> : tensor<3xf8E4M3FN>
  %r3 = stablehlo.divide %x3, %y3 : tensor<3xf8E4M3FN>
  check.expect_almost_eq_const %r3, dense<[0.34375, 0x7F, 0x7F]> : tensor<3xf8E4M3FN>, tolerance = 0.0
  %x4 = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf8E5M2>
  %y4 = stablehlo.constant dense<[3.0, 0.0]> : tensor<2xf8E5M2>
  %r4 = stablehlo.divide %x4, %y4 : tensor<2xf8E5M2>
  check.expect_eq_const %r4, dense<[0.3125, 0x7C]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Zeros have signs.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[1.0, 1.0, 0.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[0.0, -0.0, 0.0, 0x7F800000, 1.0]> : tensor<5xf32>
  %r0 = stablehlo.divide %x0, %y0 : tensor<5xf32>
  check.expect_almost_eq_const %r0, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  %zx = stablehlo.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[0xFF800000, 0xFF800000, -3.0]> : tensor<3xf32>
  %z = stablehlo.divide %zx, %zy : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000, 0x80000000]> : tensor<3xui32>
  func.return
}

// -----

// The parts of the divisor are scaled before they are squared.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, 2.0), (1.0e+30, 1.0e+30)]> : tensor<2xcomplex<f32>>
  %y0 = stablehlo.constant dense<[(3.0, -4.0), (1.0e+30, -1.0e+30)]> : tensor<2xcomplex<f32>>
  %r0 = stablehlo.divide %x0, %y0 : tensor<2xcomplex<f32>>
  %e0 = stablehlo.constant dense<[(-0.2, 0.4), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(1.0, 1.0), (2.0, -1.0)]> : tensor<2xcomplex<f64>>
  %y1 = stablehlo.constant dense<[(1.0e+200, 1.0e+200), (0.5, 0.25)]> : tensor<2xcomplex<f64>>
  %r1 = stablehlo.divide %x1, %y1 : tensor<2xcomplex<f64>>
  %e1 = stablehlo.constant dense<[(1.0e-200, 0.0), (2.4, -3.2)]> : tensor<2xcomplex<f64>>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
