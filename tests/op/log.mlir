// log: the natural logarithm, principal branch.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 2.0, 10.0, 1.00001, 1.0e-42, 3.0e+38]> : tensor<6xf32>
  %r = stablehlo.log %x : tensor<6xf32>
  %e = stablehlo.constant dense<[0.0, 0.6931472, 2.3025851, 1.001353e-05, -96.708046, 88.59685]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[2.0, 0.1, 1.0e-310]> : tensor<3xf64>
  %s = stablehlo.log %y : tensor<3xf64>
  %d = stablehlo.constant dense<[0.6931471805599453, -2.3025850929940455, -713.8013788281542]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0.0, -0.0, -1.0, 0x7FC00000]> : tensor<5xf32>
  %r = stablehlo.log %x : tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0xFF800000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, 0.125, 1.0e+03]> : tensor<3xf16>
  %r0 = stablehlo.log %x0 : tensor<3xf16>
  check.expect_eq_const %r0, dense<[0.6934, -2.08, 6.906]> : tensor<3xf16>
  %x1 = stablehlo.constant dense<[2.0, 0.25]> : tensor<2xf8E4M3B11FNUZ>
  %r1 = stablehlo.log %x1 : tensor<2xf8E4M3B11FNUZ>
  check.expect_eq_const %r1, dense<[0.6875, -1.375]> : tensor<2xf8E4M3B11FNUZ>
  func.return
}

// -----

// The cut is along the negative axis; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(-1.0, 0.0), (-1.0, -0.0), (3.0, 4.0), (0.6, 0.8)]> : tensor<4xcomplex<f32>>
  %r = stablehlo.log %x : tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.0, 3.1415927), (0.0, -3.1415927), (1.609438, 0.9272952),
                                 (2.3841858e-08, 0.9272952)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0e-300, 1.0e-300), (0.0, -2.0)]> : tensor<2xcomplex<f64>>
  %s = stablehlo.log %y : tensor<2xcomplex<f64>>
  %d = stablehlo.constant dense<[(-690.4289543079337, 0.7853981633974483),
                                 (0.6931471805599453, -1.5707963267948966)]> : tensor<2xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
