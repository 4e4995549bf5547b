// exponential: e to the power of x.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 88.0, -87.0, -100.0]> : tensor<6xf32>
  %r = stablehlo.exponential %x : tensor<6xf32>
  %e = stablehlo.constant dense<[1.0, 2.7182817, 0.36787945, 1.6516363e+38, 1.6458115e-38, 3.8e-44]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[1.0, 709.0, -740.0]> : tensor<3xf64>
  %s = stablehlo.exponential %y : tensor<3xf64>
  %d = stablehlo.constant dense<[2.718281828459045, 8.218407461554972e+307, 4.2e-322]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 89.0, -104.0]> : tensor<5xf32>
  %r = stablehlo.exponential %x : tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0.0, 0x7FC00000, 0x7F800000, 0.0]> : tensor<5xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -3.0, 11.5]> : tensor<3xf16>
  %r0 = stablehlo.exponential %x0 : tensor<3xf16>
  check.expect_eq_const %r0, dense<[2.719, 0.04977, 0x7C00]> : tensor<3xf16>
  %x1 = stablehlo.constant dense<[1.0, 12.0]> : tensor<2xf8E5M2>
  %r1 = stablehlo.exponential %x1 : tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[2.5, 0x7C]> : tensor<2xf8E5M2>
  %x2 = stablehlo.constant dense<[-2.0, 7.0]> : tensor<2xf8E4M3FN>
  %r2 = stablehlo.exponential %x2 : tensor<2xf8E4M3FN>
  check.expect_almost_eq_const %r2, dense<[0.140625, 0x7F]> : tensor<2xf8E4M3FN>, tolerance = 0.0
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (0.0, 3.0), (-100.0, 2.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.exponential %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(1.468694, 2.2873552), (-0.9899925, 0.14112), (-1.5e-44, 3.4e-44)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.5, -2.0)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.exponential %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(-0.6861101411498431, -1.4991780090003948)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[[0.0], [0x7F80]]> : tensor<2x1xbf16>
  %a = tensor.cast %x : tensor<2x1xbf16> to tensor<?x?xbf16>
  %b = stablehlo.exponential %a : tensor<?x?xbf16>
  %r = tensor.cast %b : tensor<?x?xbf16> to tensor<2x1xbf16>
  check.expect_eq_const %r, dense<[[1.0], [0x7F80]]> : tensor<2x1xbf16>
  %none = stablehlo.constant dense<> : tensor<0x3xbf16>
  %s = stablehlo.exponential %none : tensor<0x3xbf16>
  check.expect_eq_const %s, dense<> : tensor<0x3xbf16>
  %scalar = stablehlo.constant dense<0.0> : tensor<bf16>
  %t = stablehlo.exponential %scalar : tensor<bf16>
  check.expect_eq_const %t, dense<1.0> : tensor<bf16>
  func.return
}
