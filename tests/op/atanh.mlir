// atanh: the inverse hyperbolic tangent, between -1 and 1.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -0.9999999, 1.0e-05, 1.0e-42]> : tensor<4xf32>
  %r = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  %e = stablehlo.constant dense<[0.54930615, -8.317766, 1.0e-05, 1.0e-42]> : tensor<4xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>
  %y = stablehlo.constant dense<[0.25, 1.0e-20, -0.999999999]> : tensor<3xf64>
  %s = chlo.atanh %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.25541281188299536, 1.0e-20, -10.708206522644144]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[1.0, -1.0, 1.5, 0x7FC00000]> : tensor<4xf32>
  %r = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.atanh %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -0.99]> : tensor<2xf16>
  %r0 = chlo.atanh %x0 : tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r0, dense<[0.5493, -2.658]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[0.25, -0.875]> : tensor<2xf8E5M2>
  %r1 = chlo.atanh %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[0.25, -1.25]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Cuts along the real axis beyond -1 and 1; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.5, 0.5), (2.0, 0.0), (2.0, -0.0), (1.0, 1.0e+06)]> : tensor<4xcomplex<f32>>
  %r = chlo.atanh %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.4023595, 0.5535744), (0.54930615, 1.5707964), (0.54930615, -1.5707964),
                                 (1.0e-12, 1.5707953)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0), (-1.0, 1.0e-300), (1.0, 100000000.0)]> : tensor<3xcomplex<f64>>
  %s = chlo.atanh %y : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.1175009073114339, -1.4099210495965755), (-345.73433753938684, 0.7853981633974483),
                                 (9.999999999999999e-17, 1.5707963167948966)]> : tensor<3xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}

// -----

// The imaginary axis stays imaginary, whatever is on it.
func.func @imaginary_axis() {
  %x = stablehlo.constant dense<[(0.0, 0x7FC00000), (-0.0, 0x7FC00000), (-0.0, 2.0)]> : tensor<3xcomplex<f32>>
  %r = chlo.atanh %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %re = stablehlo.real %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %im = stablehlo.imag %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_eq_const %re, dense<[0.0, -0.0, -0.0]> : tensor<3xf32>
  check.expect_almost_eq_const %im, dense<[0x7FC00000, 0x7FC00000, 1.1071488]> : tensor<3xf32>
  func.return
}
