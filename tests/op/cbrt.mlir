// cbrt: the real root of real numbers; of complex numbers the principal one.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[8.0, -27.0, 2.0, 1.0e-42, 3.0e+38]> : tensor<5xf32>
  %r = stablehlo.cbrt %x : tensor<5xf32>
  %e = stablehlo.constant dense<[2.0, -3.0, 1.2599211, 1.00017566e-14, 6.6943294e+12]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[2.0, -0.001, 1.0e+300]> : tensor<3xf64>
  %s = stablehlo.cbrt %y : tensor<3xf64>
  %d = stablehlo.constant dense<[1.2599210498948732, -0.1, 1.0e+100]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.cbrt %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.cbrt %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, -100.0]> : tensor<2xbf16>
  %r0 = stablehlo.cbrt %x0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[1.2578125, -4.65625]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[-8.0, 40.0]> : tensor<2xf8E5M2>
  %r1 = stablehlo.cbrt %x1 : tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[-2.0, 3.5]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(0.0, 8.0), (-8.0, 0.0), (3.0, -4.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.cbrt %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(1.7320508, 1.0), (1.0, 1.7320508), (1.6289371, -0.5201745)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}
