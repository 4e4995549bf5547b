// logistic: 1 / (1 + exp(-x)).

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, -90.0, 90.0, 20.0]> : tensor<6xf32>
  %r = stablehlo.logistic %x : tensor<6xf32>
  %e = stablehlo.constant dense<[0.5, 0.7310586, 0.26894143, 8.19401e-40, 1.0, 1.0]> : tensor<6xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<6xf32>, tensor<6xf32>
  %y = stablehlo.constant dense<[0.5, -700.0, -40.0]> : tensor<3xf64>
  %s = stablehlo.logistic %y : tensor<3xf64>
  %d = stablehlo.constant dense<[0.6224593312018546, 9.85967654375977e-305, 4.248354255291589e-18]> : tensor<3xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The ends of the domain and of the range, and NaN.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.logistic %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[1.0, 0.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, -5.0]> : tensor<2xbf16>
  %r0 = stablehlo.logistic %x0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.62109375, 0.0066833496]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[2.0, -4.0]> : tensor<2xf8E5M2>
  %r1 = stablehlo.logistic %x1 : tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[0.875, 0.01953125]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Each part of a complex number is accurate by itself.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (-2.0, 3.0), (-50.0, 0.5)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.logistic %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.78204155, 0.20194823), (-0.15414765, 0.02545268),
                                 (1.6926373e-22, 9.2469196e-23)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.5, -0.25)]> : tensor<1xcomplex<f64>>
  %s = stablehlo.logistic %y : tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.6242751644199612, -0.05900296431450802)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Quantised numbers: what they stand for, through the function, quantised again.
func.func @quantised() {
  %x = stablehlo.constant dense<[-20, -18, -24, 60]> : tensor<4xi8>
  %q = stablehlo.bitcast_convert %x : (tensor<4xi8>) -> tensor<4x!quant.uniform<i8:f32, 0.5:-20>>
  %r = stablehlo.logistic %q : (tensor<4x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<4x!quant.uniform<i8:f32, 0.00390625:-128>>
  %s = stablehlo.bitcast_convert %r : (tensor<4x!quant.uniform<i8:f32, 0.00390625:-128>>) -> tensor<4xi8>
  check.expect_eq_const %s, dense<[0, 59, -97, 127]> : tensor<4xi8>
  func.return
}
