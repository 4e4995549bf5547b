// asinh: the inverse hyperbolic sine.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 1.0e-05, -2.0, -3.0e+38, 1.0e-42]> : tensor<5xf32>
  %r = chlo.asinh %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.8813736, 1.0e-05, -1.4436355, -89.28999, 1.0e-42]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.5, 1.0e-20, -1.0e+300]> : tensor<3xf64>
  %s = chlo.asinh %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.48121182505960347, 1.0e-20, -691.4686750787737]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.asinh %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.asinh %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.5, -100.0]> : tensor<2xf16>
  %r0 = chlo.asinh %x0 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r0, dense<[1.194, -5.297]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[2.0, -0.5]> : tensor<2xf8E5M2>
  %r1 = chlo.asinh %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[1.5, -0.5]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Cuts along the imaginary axis beyond -i and i; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.5, 0.5), (0.0, 2.0), (-0.0, 2.0), (1.0e+20, -1.0)]> : tensor<4xcomplex<f32>>
  %r = chlo.asinh %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.5306375, 0.45227844), (1.316958, 1.5707964), (-1.316958, 1.5707964),
                                 (46.74485, -1.0e-20)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f64>>
  %s = chlo.asinh %y : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(2.2999140408792695, -0.9176168533514787)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
