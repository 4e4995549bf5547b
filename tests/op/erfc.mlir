// erfc: 1 - erf(x) without the digits that the subtraction would lose.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -1.0, 5.0, 10.0, 0.0]> : tensor<5xf32>
  %r = chlo.erfc %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.47950011, 1.8427008, 1.5374598e-12, 1.0e-45, 1.0]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.25, 26.0, -1.0e-20]> : tensor<3xf64>
  %s = chlo.erfc %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.7236736098317631, 5.663192408856143e-296, 1.0]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 20.0]> : tensor<4xf32>
  %r = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0.0, 2.0, 0x7FC00000, 0.0]> : tensor<4xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, 8.0]> : tensor<2xbf16>
  %r0 = chlo.erfc %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.48046875, 1.1241268e-29]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -4.0]> : tensor<2xf8E5M2>
  %r1 = chlo.erfc %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[0.75, 2.0]> : tensor<2xf8E5M2>
  func.return
}
