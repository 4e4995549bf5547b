// cosine: arguments in radians, reduced exactly however large they are.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, 1.5707964, -3.0, 1.0e+06, 3.0e+38]> : tensor<6xf32>
  %r = stablehlo.cosine %x : tensor<6xf32>
  %e = stablehlo.constant dense<[1.0, 0.5403023, -4.371139e-08, -0.9899925, 0.93675214, -0.48429477]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[1.5707963267948966, 1.0e+22, -0.7]> : tensor<3xf64>
  %s = stablehlo.cosine %y : tensor<3xf64>
  %d = stablehlo.constant dense<[6.123233995736766e-17, 0.523214785395139, 0.7648421872844885]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.cosine %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, 2.0, 100.0]> : tensor<3xf16>
  %r0 = stablehlo.cosine %x0 : tensor<3xf16>
  check.expect_eq_const %r0, dense<[0.8774, -0.4163, 0.8623]> : tensor<3xf16>
  %x1 = stablehlo.constant dense<[0.5, 3.0, 448.0]> : tensor<3xf8E4M3FN>
  %r1 = stablehlo.cosine %x1 : tensor<3xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.875, -1.0, -0.3125]> : tensor<3xf8E4M3FN>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (-0.5, 20.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.cosine %x : tensor<2xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.83373004, -0.9888977), (2.1288626e+08, 1.16300296e+08)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, -2.0), (3.0, 0.25)]> : tensor<2xcomplex<f64>>
  %s = stablehlo.cosine %y : tensor<2xcomplex<f64>>
  %d = stablehlo.constant dense<[(2.0327230070196656, 3.0518977991518),
                                 (-1.0210912297761832, -0.035648652183990444)]> : tensor<2xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[[0.0, -0.0]]> : tensor<1x2xf32>
  %a = tensor.cast %x : tensor<1x2xf32> to tensor<?x?xf32>
  %b = stablehlo.cosine %a : tensor<?x?xf32>
  %r = tensor.cast %b : tensor<?x?xf32> to tensor<1x2xf32>
  check.expect_eq_const %r, dense<[[1.0, 1.0]]> : tensor<1x2xf32>
  %none = stablehlo.constant dense<> : tensor<0x3xf32>
  %s = stablehlo.cosine %none : tensor<0x3xf32>
  check.expect_eq_const %s, dense<> : tensor<0x3xf32>
  %scalar = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.cosine %scalar : tensor<f32>
  check.expect_eq_const %t, dense<1.0> : tensor<f32>
  func.return
}
