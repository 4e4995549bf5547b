// sqrt: the principal square root.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[4.0, 2.0, 0.01, 1.0e-42, 3.0e+38]> : tensor<5xf32>
  %r = stablehlo.sqrt %x : tensor<5xf32>
  %e = stablehlo.constant dense<[2.0, 1.4142135, 0.1, 1.0002635e-21, 1.7320508e+19]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[2.0, 1.0e-310, 3.0]> : tensor<3xf64>
  %s = stablehlo.sqrt %y : tensor<3xf64>
  %d = stablehlo.constant dense<[1.4142135623730951, 9.999999999999986e-156, 1.7320508075688772]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, -1.0, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %r = stablehlo.sqrt %x : tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.sqrt %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, 6.0e-08]> : tensor<2xf16>
  %r0 = stablehlo.sqrt %x0 : tensor<2xf16>
  check.expect_eq_const %r0, dense<[1.414, 0.0002441]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[16.0, 2.0]> : tensor<2xf8E4M3FN>
  %r1 = stablehlo.sqrt %x1 : tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[4.0, 1.375]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

// The cut is along the negative axis; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (-4.0, 0.0), (-4.0, -0.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.sqrt %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(2.0, 1.0), (0.0, 2.0), (0.0, -2.0)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.0, 2.0)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.sqrt %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(1.0, 1.0)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[[4.0, 0.25]]> : tensor<1x2xf64>
  %a = tensor.cast %x : tensor<1x2xf64> to tensor<?x?xf64>
  %b = stablehlo.sqrt %a : tensor<?x?xf64>
  %r = tensor.cast %b : tensor<?x?xf64> to tensor<1x2xf64>
  check.expect_eq_const %r, dense<[[2.0, 0.5]]> : tensor<1x2xf64>
  %none = stablehlo.constant dense<> : tensor<0x3xf64>
  %s = stablehlo.sqrt %none : tensor<0x3xf64>
  check.expect_eq_const %s, dense<> : tensor<0x3xf64>
  %scalar = stablehlo.constant dense<4.0> : tensor<f64>
  %t = stablehlo.sqrt %scalar : tensor<f64>
  check.expect_eq_const %t, dense<2.0> : tensor<f64>
  func.return
}
