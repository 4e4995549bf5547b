// round_nearest_afz: to the nearest integer, halves away from zero.

// Numbers so large that they have no fraction stay as they are.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.5, -1.5, 2.5, -0.5, 8.388609e+06, 3.0e+38]> : tensor<6xf32>
  %r0 = stablehlo.round_nearest_afz %x0 : tensor<6xf32>
  check.expect_eq_const %r0, dense<[2.0, -2.0, 3.0, -1.0, 8.388609e+06, 3.0e+38]> : tensor<6xf32>
  %x1 = stablehlo.constant dense<[0.5, -2.5, 4503599627370495.5]> : tensor<3xf64>
  %r1 = stablehlo.round_nearest_afz %x1 : tensor<3xf64>
  check.expect_eq_const %r1, dense<[1.0, -3.0, 4503599627370496.0]> : tensor<3xf64>
  %x2 = stablehlo.constant dense<[1.5, -2.75]> : tensor<2xbf16>
  %r2 = stablehlo.round_nearest_afz %x2 : tensor<2xbf16>
  check.expect_eq_const %r2, dense<[2.0, -3.0]> : tensor<2xbf16>
  %x3 = stablehlo.constant dense<[2.5, -1.25, 1.0235e+03]> : tensor<3xf16>
  %r3 = stablehlo.round_nearest_afz %x3 : tensor<3xf16>
  check.expect_eq_const %r3, dense<[3.0, -1.0, 1.024e+03]> : tensor<3xf16>
  %x4 = stablehlo.constant dense<[1.5, -2.25, 13.0]> : tensor<3xf8E4M3FN>
  %r4 = stablehlo.round_nearest_afz %x4 : tensor<3xf8E4M3FN>
  check.expect_eq_const %r4, dense<[2.0, -2.0, 13.0]> : tensor<3xf8E4M3FN>
  func.return
}

// -----

// Infinities, NaN; a result of zero keeps the sign.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r0 = stablehlo.round_nearest_afz %x0 : tensor<3xf32>
  check.expect_almost_eq_const %r0, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[-0.0, 0.0, -0.4, 1.0e-45]> : tensor<4xf32>
  %s = stablehlo.round_nearest_afz %z : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000, 0x80000000, 0x00000000]> : tensor<4xui32>
  func.return
}

// -----

// The largest number below a half.
func.func @below_half() {
  %x0 = stablehlo.constant dense<[0.49999999999999994, -0.49999999999999994]> : tensor<2xf64>
  %r0 = stablehlo.round_nearest_afz %x0 : tensor<2xf64>
  check.expect_eq_const %r0, dense<[0.0, -0.0]> : tensor<2xf64>
  %x1 = stablehlo.constant dense<[0.49999997]> : tensor<1xf32>
  %r1 = stablehlo.round_nearest_afz %x1 : tensor<1xf32>
  check.expect_eq_const %r1, dense<[0.0]> : tensor<1xf32>
  func.return
}
