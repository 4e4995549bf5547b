// erf: the error function, accurate from its tiny values near zero to 1.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -1.0, 3.9, 10.0, 1.0e-42]> : tensor<5xf32>
  %r = chlo.erf %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.5204999, -0.8427008, 0.99999994, 1.0, 1.13e-42]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.25, -2.0, 1.0e-20]> : tensor<3xf64>
  %s = chlo.erf %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.27632639016823696, -0.9953222650189527, 1.1283791670955125e-20]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.erf %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xbf16>
  %r0 = chlo.erf %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.51953125, -0.84375]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -4.0]> : tensor<2xf8E4M3FN>
  %r1 = chlo.erf %x1 : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.28125, -1.0]> : tensor<2xf8E4M3FN>
  func.return
}
