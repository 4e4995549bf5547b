// tanh: does not overflow on its way to 1.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -1.0, 9.5, 100.0, 1.0e-05, -1.0e-42]> : tensor<6xf32>
  %r = stablehlo.tanh %x : tensor<6xf32>
  %e = stablehlo.constant dense<[0.46211717, -0.7615942, 1.0, 1.0, 1.0e-05, -1.0e-42]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[0.1, -3.0, 18.0]> : tensor<3xf64>
  %s = stablehlo.tanh %y : tensor<3xf64>
  %d = stablehlo.constant dense<[0.09966799462495582, -0.9950547536867305, 0.9999999999999996]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.tanh %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.tanh %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -2.0]> : tensor<2xbf16>
  %r0 = stablehlo.tanh %x0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.46289062, -0.96484375]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -3.0]> : tensor<2xf8E4M3FNUZ>
  %r1 = stablehlo.tanh %x1 : tensor<2xf8E4M3FNUZ>
  check.expect_eq_const %r1, dense<[0.25, -1.0]> : tensor<2xf8E4M3FNUZ>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (100.0, 1.0), (-0.5, 2.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.tanh %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(1.0839233, 0.2717526), (1.0, 0.0), (-1.3212866, -0.8508781)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.25, -2.0)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.tanh %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(1.099398135211779, 1.5966892107707558)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Quantised numbers: what they stand for, through the function, quantised again.
func.func @quantised() {
  %x = stablehlo.constant dense<[-20, -18, -24, 127]> : tensor<4xi8>
  %q = stablehlo.bitcast_convert %x : (tensor<4xi8>) -> tensor<4x!quant.uniform<i8:f32, 0.5:-20>>
  %r = stablehlo.tanh %q : (tensor<4x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<4x!quant.uniform<i8:f32, 0.0078125:0>>
  %s = stablehlo.bitcast_convert %r : (tensor<4x!quant.uniform<i8:f32, 0.0078125:0>>) -> tensor<4xi8>
  check.expect_eq_const %s, dense<[0, 97, -123, 127]> : tensor<4xi8>
  func.return
}

// -----

// The real axis stays real, whatever is on it.
func.func @real_axis() {
  %x = stablehlo.constant dense<[(0x7FC00000, 0.0), (0x7FC00000, -0.0), (0.5, -0.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.tanh %x : tensor<3xcomplex<f32>>
  %re = stablehlo.real %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %im = stablehlo.imag %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_almost_eq_const %re, dense<[0x7FC00000, 0x7FC00000, 0.46211717]> : tensor<3xf32>
  check.expect_eq_const %im, dense<[0.0, -0.0, -0.0]> : tensor<3xf32>
  func.return
}
