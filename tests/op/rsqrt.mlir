// rsqrt: 1 / sqrt(x).

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[4.0, 2.0, 0.01, 1.0e-42, 3.0e+38]> : tensor<5xf32>
  %r = stablehlo.rsqrt %x : tensor<5xf32>
  %e = stablehlo.constant dense<[0.5, 0.70710677, 10.0, 9.9973656e+20, 5.773503e-20]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[2.0, 1.0e-310, 3.0]> : tensor<3xf64>
  %s = stablehlo.rsqrt %y : tensor<3xf64>
  %d = stablehlo.constant dense<[0.7071067811865476, 1.0000000000000016e+155, 0.5773502691896257]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0.0, -0.0, -1.0, 0x7FC00000]> : tensor<5xf32>
  %r = stablehlo.rsqrt %x : tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0.0, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, 6.0e-08]> : tensor<2xf16>
  %r0 = stablehlo.rsqrt %x0 : tensor<2xf16>
  check.expect_eq_const %r0, dense<[0.707, 4.096e+03]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[16.0, 0.001953125]> : tensor<2xf8E4M3FN>
  %r1 = stablehlo.rsqrt %x1 : tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.25, 22.0]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (-4.0, 0.0), (-4.0, -0.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.rsqrt %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.4, -0.2), (0.0, -0.5), (0.0, 0.5)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.0, 2.0)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.rsqrt %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.5, -0.5)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
