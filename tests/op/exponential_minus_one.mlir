// exponential_minus_one: exp(x) - 1 without the digits that the subtraction would lose.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 1.0e-10, -1.0e-05, -20.0, 88.0]> : tensor<5xf32>
  %r = stablehlo.exponential_minus_one %x : tensor<5xf32>
  %e = stablehlo.constant dense<[1.7182819, 1.0e-10, -9.99995e-06, -1.0, 1.6516363e+38]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[1.0e-17, -0.001, 2.0]> : tensor<3xf64>
  %s = stablehlo.exponential_minus_one %y : tensor<3xf64>
  %d = stablehlo.constant dense<[1.0e-17, -0.0009995001666250085, 6.38905609893065]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 89.0]> : tensor<4xf32>
  %r = stablehlo.exponential_minus_one %x : tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, -1.0, 0x7FC00000, 0x7F800000]> : tensor<4xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.exponential_minus_one %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -0.0078125]> : tensor<2xbf16>
  %r0 = stablehlo.exponential_minus_one %x0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[1.71875, -0.0077819824]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[-2.0, 0.015625]> : tensor<2xf8E4M3FN>
  %r1 = stablehlo.exponential_minus_one %x1 : tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[-0.875, 0.015625]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

// Near zero neither part loses digits.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (1.0e-08, 1.0e-06), (-0.5, 3.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.exponential_minus_one %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.46869394, 2.2873552), (9.9995e-09, 1.0e-06),
                                 (-1.6004608, 0.08559361)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0e-12, -0.001)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.exponential_minus_one %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(-4.999989583338348e-07, -0.0009999998333343417)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
