// log_plus_one: log(1 + x) without the digits that the addition would lose.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[1.0, 1.0e-10, -1.0e-05, -0.99, 3.0e+38]> : tensor<5xf32>
  %r = stablehlo.log_plus_one %x : tensor<5xf32>
  %e = stablehlo.constant dense<[0.6931472, 1.0e-10, -1.000005e-05, -4.605171, 88.59685]> : tensor<5xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %y = stablehlo.constant dense<[1.0e-17, -0.001, 2.0]> : tensor<3xf64>
  %s = stablehlo.log_plus_one %y : tensor<3xf64>
  %d = stablehlo.constant dense<[1.0e-17, -0.0010005003335835335, 1.0986122886681098]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, -1.0, -1.5, 0xFF800000, 0x7FC00000]> : tensor<5xf32>
  %r = stablehlo.log_plus_one %x : tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>,
      tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.log_plus_one %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, 0.0078125]> : tensor<2xbf16>
  %r0 = stablehlo.log_plus_one %x0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.69140625, 0.0077819824]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[-0.5, 3.0]> : tensor<2xf8E5M2>
  %r1 = stablehlo.log_plus_one %x1 : tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[-0.75, 1.5]> : tensor<2xf8E5M2>
  func.return
}

// -----

// The cut begins at -1; near zero no digits are lost.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (1.0e-08, 1.0e-06), (-3.0, 0.0), (-3.0, -0.0)]> : tensor<4xcomplex<f32>>
  %r = stablehlo.log_plus_one %x : tensor<4xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.804719, 0.4636476), (1.00005e-08, 1.0e-06), (0.6931472, 3.1415927),
                                 (0.6931472, -3.1415927)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0e-12, -0.001)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.log_plus_one %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(5.000007499991667e-07, -0.0009999996666658667)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
