// square: x * x.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.5, -3.0, 1.0e-20, -1.0e+19]> : tensor<4xf32>
  %r = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  %e = stablehlo.constant dense<[2.25, 9.0, 1.0e-40, 1.0e+38]> : tensor<4xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>
  %y = stablehlo.constant dense<[0.1, -1.0e-160, 1.0e+150]> : tensor<3xf64>
  %s = chlo.square %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.010000000000000002, 1.0e-320, 9.999999999999999e+299]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0e+20]> : tensor<4xf32>
  %r = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0x7F800000, 0x7FC00000, 0x7F800000]> : tensor<4xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[300.0, -0.125]> : tensor<2xf16>
  %r0 = chlo.square %x0 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r0, dense<[0x7C00, 0.01563]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[1.625, -24.0]> : tensor<2xf8E4M3FN>
  %r1 = chlo.square %x1 : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_almost_eq_const %r1, dense<[2.75, 0x7F]> : tensor<2xf8E4M3FN>, tolerance = 0.0
  %x2 = stablehlo.constant dense<[-320.0, 3.0]> : tensor<2xf8E5M2>
  %r2 = chlo.square %x2 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r2, dense<[0x7C, 8.0]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 3.0), (-1.0, 0.5)]> : tensor<3xcomplex<f32>>
  %r = chlo.square %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(-3.0, 4.0), (0.0, 18.0), (0.75, -1.0)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.5, -0.25)]> : tensor<1xcomplex<f64>>
  %s = chlo.square %y : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.1875, -0.25)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[[1.5], [-2.0]]> : tensor<2x1xf32>
  %a = tensor.cast %x : tensor<2x1xf32> to tensor<?x?xf32>
  %b = chlo.square %a : tensor<?x?xf32> -> tensor<?x?xf32>
  %r = tensor.cast %b : tensor<?x?xf32> to tensor<2x1xf32>
  check.expect_eq_const %r, dense<[[2.25], [4.0]]> : tensor<2x1xf32>
  %none = stablehlo.constant dense<> : tensor<0x3xf32>
  %s = chlo.square %none : tensor<0x3xf32> -> tensor<0x3xf32>
  check.expect_eq_const %s, dense<> : tensor<0x3xf32>
  %scalar = stablehlo.constant dense<1.5> : tensor<f32>
  %t = chlo.square %scalar : tensor<f32> -> tensor<f32>
  check.expect_eq_const %t, dense<2.25> : tensor<f32>
  func.return
}
