// atan: the arc tangent, from -pi/2 to pi/2.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 0.5, -3.0, 1.0e+30, 1.0e-42]> : tensor<5xf32>
  %r = chlo.atan %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.7853982, 0.4636476, -1.2490457, 1.5707964, 1.0e-42]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.25, -100000.0, 1.0e-20]> : tensor<3xf64>
  %s = chlo.atan %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.24497866312686414, -1.570786326794897, 1.0e-20]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.atan %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[1.5707964, -1.5707964, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.atan %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -100.0]> : tensor<2xbf16>
  %r0 = chlo.atan %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.46289062, -1.5625]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -448.0]> : tensor<2xf8E4M3FN>
  %r1 = chlo.atan %x1 : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.25, -1.625]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

// Cuts along the imaginary axis beyond -i and i; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.5, 0.5), (0.0, 2.0), (-0.0, 2.0), (1.0e+20, 1.0)]> : tensor<4xcomplex<f32>>
  %r = chlo.atan %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.5535744, 0.4023595), (1.5707964, 0.54930615), (-1.5707964, 0.54930615),
                                 (1.5707964, 1.0e-40)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0), (1000000.0, 1.0)]> : tensor<2xcomplex<f64>>
  %s = chlo.atan %y : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %d = stablehlo.constant dense<[(1.4483069952314644, -0.15899719167999918),
                                 (1.5707953267948966, 9.99999999998e-13)]> : tensor<2xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
