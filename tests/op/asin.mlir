// asin: the arc sine, from -pi/2 to pi/2.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 0.5, -0.5, -1.0, 1.0e-42]> : tensor<5xf32>
  %r = chlo.asin %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[1.5707964, 0.5235988, -0.5235988, -1.5707964, 1.0e-42]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.25, -0.999999999, 1.0e-20]> : tensor<3xf64>
  %s = chlo.asin %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.25268025514207865, -1.5707516054359754, 1.0e-20]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[1.5, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.asin %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.asin %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xbf16>
  %r0 = chlo.asin %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.5234375, -1.5703125]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -0.75]> : tensor<2xf8E4M3FN>
  %r1 = chlo.asin %x1 : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.25, -0.875]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

// Cuts along the real axis beyond -1 and 1; the sign of the zero says on which side.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.5, 0.5), (2.0, 0.0), (2.0, -0.0), (-3.0, 0.0)]> : tensor<4xcomplex<f32>>
  %r = chlo.asin %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.45227844, 0.5306375), (1.5707964, 1.316958), (1.5707964, -1.316958),
                                 (-1.5707964, 1.7627472)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(10000000000.0, 10000000000.0), (-1.0, 1.0e-20)]> : tensor<2xcomplex<f64>>
  %s = chlo.asin %y : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.7853981633974483, 24.065571700780374),
                                 (-1.5707963266948965, 1.0e-10)]> : tensor<2xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
