// sine: arguments in radians, reduced exactly however large they are.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -1.0, 3.1415927, 1.0e-42, 1.0e+06, 3.0e+38]> : tensor<6xf32>
  %r = stablehlo.sine %x : tensor<6xf32>
  %e = stablehlo.constant dense<[0.47942555, -0.84147096, -8.742278e-08, 1.0e-42, -0.3499935, 0.8749049]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[3.141592653589793, 1.0e+22, -0.7]> : tensor<3xf64>
  %s = stablehlo.sine %y : tensor<3xf64>
  %d = stablehlo.constant dense<[1.2246467991473532e-16, -0.8522008497671888, -0.644217687237691]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.sine %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.sine %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, 2.0, 100.0]> : tensor<3xbf16>
  %r0 = stablehlo.sine %x0 : tensor<3xbf16>
  check.expect_eq_const %r0, dense<[0.47851562, 0.91015625, -0.5078125]> : tensor<3xbf16>
  %x1 = stablehlo.constant dense<[0.5, 3.0, -448.0]> : tensor<3xf8E4M3FN>
  %r1 = stablehlo.sine %x1 : tensor<3xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.46875, 0.140625, -0.9375]> : tensor<3xf8E4M3FN>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (-0.5, 20.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.sine %x : tensor<2xcomplex<f32>>
  %e = stablehlo.constant dense<[(1.2984576, 0.6349639), (-1.16300296e+08, 2.1288626e+08)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, -2.0), (1.0e-05, 1.0e-09)]> : tensor<2xcomplex<f64>>
  %s = stablehlo.sine %y : tensor<2xcomplex<f64>>
  %d = stablehlo.constant dense<[(3.165778513216168, -1.9596010414216058),
                                 (9.999999999833334e-06, 9.9999999995e-10)]> : tensor<2xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
