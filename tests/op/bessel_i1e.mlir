// bessel_i1e: exp(-|x|) I1(x), the modified Bessel function of the first kind, scaled.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, -2.5, 30.0, 1.0e-05, 1.0e+06]> : tensor<5xf32>
  %r = chlo.bessel_i1e %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.20791042, -0.20658465, 0.07191633, 4.99995e-06, 0.00039894212]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.5, 24.0, -100.0]> : tensor<3xf64>
  %s = chlo.bessel_i1e %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.1564208031848717, 0.08014413927653474, -0.03974415302513025]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0.0, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.bessel_i1e %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0.0, 0.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -20.0]> : tensor<2xbf16>
  %r0 = chlo.bessel_i1e %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.20800781, -0.087402344]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, 100.0]> : tensor<2xf16>
  %r1 = chlo.bessel_i1e %x1 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r1, dense<[0.0981, 0.03973]> : tensor<2xf16>
  func.return
}
