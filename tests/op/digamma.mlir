// digamma: the derivative of log gamma; its poles are at zero and the negative integers.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 0.5, 1.4616321, -0.5, -10.25, 1.0e+10]> : tensor<6xf32>
  %r = chlo.digamma %x : tensor<6xf32> -> tensor<6xf32>
  %e = stablehlo.constant dense<[-0.5772157, -1.96351, -1.2036052e-08, 0.036489975, 5.5168586, 23.02585]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[2.0, 1.4616321449683622, 1.0e-05, -3.75]> : tensor<4xf64>
  %s = chlo.digamma %y : tensor<4xf64> -> tensor<4xf64>
  %d = stablehlo.constant dense<[0.42278433509846713, -9.241265521729427e-17, -100000.57719921567,
                                 -1.6923885983113303]> : tensor<4xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, -1.0, -20.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  %r = chlo.digamma %x : tensor<5xf32> -> tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xbf16>
  %r0 = chlo.digamma %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[-0.578125, 1.1015625]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, 100.0]> : tensor<2xf16>
  %r1 = chlo.digamma %x1 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r1, dense<[-4.227, 4.6]> : tensor<2xf16>
  func.return
}
