// erf_inv: the inverse of erf, from -1 to 1.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -0.25, 0.999, -0.9999999, 1.0e-30]> : tensor<5xf32>
  %r = chlo.erf_inv %x : tensor<5xf32> -> tensor<5xf32>
  %e = stablehlo.constant dense<[0.47693628, -0.22531205, 2.3267562, -3.7439213, 8.862269e-31]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[0.1, -0.999999999999, 0.75]> : tensor<3xf64>
  %s = chlo.erf_inv %y : tensor<3xf64> -> tensor<3xf64>
  %d = stablehlo.constant dense<[0.08885599049425769, -5.042031898572696, 0.8134198475976185]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[1.0, -1.0, 1.5, 0xFF800000, 0x7FC00000]> : tensor<5xf32>
  %r = chlo.erf_inv %x : tensor<5xf32> -> tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = chlo.erf_inv %z : tensor<2xf32> -> tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -0.875]> : tensor<2xbf16>
  %r0 = chlo.erf_inv %x0 : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.4765625, -1.0859375]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.25, -0.9375]> : tensor<2xf8E4M3FN>
  %r1 = chlo.erf_inv %x1 : tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_eq_const %r1, dense<[0.21875, -1.375]> : tensor<2xf8E4M3FN>
  func.return
}
