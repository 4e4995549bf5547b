// cosh: of f32 by the formula that CHLO gives it, some units in the last place away from the true value where
// exp is large; of f64 accurate.

func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -0.5, 3.0, 89.0]> : tensor<5xf32>
  %r = chlo.cosh %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[1.0, 1.5430807, 1.127626, 10.067662, 2.2448064e+38]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 180 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[1.0, -20.0, 710.0]> : tensor<3xf64>
  %s = chlo.cosh %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[1.5430806348152437, 242582597.70489514, 1.1169973830808555e+308]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 90.0]> : tensor<4xf32>
  %r = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0x7F800000, 0x7FC00000, 0x7F800000]> : tensor<4xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -4.0]> : tensor<2xbf16>
  %r0 = chlo.cosh %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[1.546875, 27.25]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.5, -3.0]> : tensor<2xf8E5M2>
  %r1 = chlo.cosh %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[1.25, 10.0]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (-3.0, 2.0)]> : tensor<2xcomplex<f32>>
  %r = chlo.cosh %x : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.83373004, 0.9888977), (-4.1896257, -9.109228)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.5, -0.25)]> : tensor<1xcomplex<f64>>
  %s = chlo.cosh %y : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(1.0925708047319176, -0.12892104172809826)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
