// lgamma: log |gamma(x)|.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, 3.0, -0.5, -10.25, 1.0e+10, 1.0e-30]> : tensor<6xf32>
  %r = chlo.lgamma %x : tensor<6xf32> -> tensor<6xf32>
  %e = stablehlo.constant dense<[0.5723649, 0.6931472, 1.2655121, -14.203998, 2.2025852e+11, 69.07755]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[2.5, 1.0e-300, -3.75]> : tensor<3xf64>
  %s = chlo.lgamma %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.2846828704729192, 690.7755278982137, -1.3172679424463636]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, -1.0, 1.0, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %r = chlo.lgamma %x : tensor<7xf32> -> tensor<7xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0x7F800000, 0.0, 0.0, 0x7F800000, 0x7F800000,
                                          0x7FC00000]> : tensor<7xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, 100.0]> : tensor<2xbf16>
  %r0 = chlo.lgamma %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.57421875, 360.0]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -2.5]> : tensor<2xf16>
  %r1 = chlo.lgamma %x1 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r1, dense<[1.288, -0.05624]> : tensor<2xf16>
  func.return
}
