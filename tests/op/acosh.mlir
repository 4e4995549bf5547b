// acosh: the inverse hyperbolic cosine, from 1 on.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 1.0000001, 2.0, 3.0e+38]> : tensor<4xf32>
  %r = chlo.acosh %x : tensor<4xf32> -> tensor<4xf32>
  %e = stablehlo.constant dense<[0.0, 0.00048828125, 1.316958, 89.28999]> : tensor<4xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>
  %y = stablehlo.constant dense<[1.5, 1.0000000000000002, 1.0e+300]> : tensor<3xf64>
  %s = chlo.acosh %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.9624236501192069, 2.1073424255447014e-08, 691.4686750787737]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0.5, -1.0, 0xFF800000, 0x7FC00000]> : tensor<5xf32>
  %r = chlo.acosh %x : tensor<5xf32> -> tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.5, 100.0]> : tensor<2xf16>
  %r0 = chlo.acosh %x0 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r0, dense<[0.9624, 5.297]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[2.0, -2.0]> : tensor<2xf8E5M2>
  %r1 = chlo.acosh %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_almost_eq_const %r1, dense<[1.25, 0x7E]> : tensor<2xf8E5M2>, tolerance = 0.0
  func.return
}

// -----

// A cut along the real axis below 1; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.5, 0.5), (-2.0, 0.0), (-2.0, -0.0), (1.0e+20, -1.0)]> : tensor<4xcomplex<f32>>
  %r = chlo.acosh %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.5306375, 1.1185179), (1.316958, 3.1415927), (1.316958, -3.1415927),
                                 (46.74485, -1.0e-20)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f64>>
  %s = chlo.acosh %y : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(2.305509031243477, -0.9368124611557199)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
