// sign: -1, 0 or 1; of complex numbers the point of the unit circle in their direction.

// Signed integers.
func.func @integers() {
  %x0 = stablehlo.constant dense<[-5, 0, 2147483647, -2147483648]> : tensor<4xi32>
  %r0 = stablehlo.sign %x0 : tensor<4xi32>
  check.expect_eq_const %r0, dense<[-1, 0, 1, -1]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[-128, 1]> : tensor<2xi8>
  %r1 = stablehlo.sign %x1 : tensor<2xi8>
  check.expect_eq_const %r1, dense<[-1, 1]> : tensor<2xi8>
  %x2 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %r2 = stablehlo.sign %x2 : tensor<2xi4>
  check.expect_eq_const %r2, dense<[-1, 1]> : tensor<2xi4>
  %x3 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %r3 = stablehlo.sign %x3 : tensor<2xi2>
  check.expect_eq_const %r3, dense<[-1, 1]> : tensor<2xi2>
  func.return
}

// -----

// Zeros and NaN are their own signs.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.0e-45, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r0 = stablehlo.sign %x0 : tensor<3xf32>
  check.expect_almost_eq_const %r0, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %x1 = stablehlo.constant dense<[-0.1]> : tensor<1xf64>
  %r1 = stablehlo.sign %x1 : tensor<1xf64>
  check.expect_eq_const %r1, dense<[-1.0]> : tensor<1xf64>
  %x2 = stablehlo.constant dense<[3.0]> : tensor<1xbf16>
  %r2 = stablehlo.sign %x2 : tensor<1xbf16>
  check.expect_eq_const %r2, dense<[1.0]> : tensor<1xbf16>
  %x3 = stablehlo.constant dense<[-240.0]> : tensor<1xf8E4M3>
  %r3 = stablehlo.sign %x3 : tensor<1xf8E4M3>
  check.expect_eq_const %r3, dense<[-1.0]> : tensor<1xf8E4M3>
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.sign %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// z / |z|, also where |z| is too large or too small for the format.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(3.0, -4.0), (0.0, 0.0), (0x7FC00000, 1.0), (3.0e+38, 0.0)]> : tensor<4xcomplex<f32>>
  %r0 = stablehlo.sign %x0 : tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %r0, dense<[(0.6, -0.8), (0.0, 0.0), (0x7FC00000, 0x7FC00000),
                                           (1.0, 0.0)]> : tensor<4xcomplex<f32>>,
    tolerance = 1.0e-7
  func.return
}
