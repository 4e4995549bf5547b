// tan: StableHLO and CHLO have one each.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x = stablehlo.constant dense<[0.5, -1.0, 1.5707964, 1.0e+06]> : tensor<4xf32>
  %r = stablehlo.tan %x : tensor<4xf32>
  %e = stablehlo.constant dense<[0.5463025, -1.5574077, -2.2877332e+07, -0.37362444]> : tensor<4xf32>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<4xf32>, tensor<4xf32>
  %y = stablehlo.constant dense<[1.5707963267948966, -0.7]> : tensor<2xf64>
  %s = chlo.tan %y : tensor<2xf64> -> tensor<2xf64>
  %d = stablehlo.constant dense<[1.633123935319537e+16, -0.8422883804630794]> : tensor<2xf64>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<2xf64>, tensor<2xf64>
  func.return
}

// -----

// The ends of the domain; a zero keeps its sign.
func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.tan %x : tensor<3xf32>
  check.expect_almost_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.tan %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[0.5, 1.5, 3.0]> : tensor<3xf16>
  %r0 = stablehlo.tan %x0 : tensor<3xf16>
  check.expect_eq_const %r0, dense<[0.5464, 14.1, -0.1426]> : tensor<3xf16>
  %x1 = stablehlo.constant dense<[1.0, -1.5]> : tensor<2xf8E5M2>
  %r1 = chlo.tan %x1 : tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[1.5, -14.0]> : tensor<2xf8E5M2>
  func.return
}

// -----

// Far from the real axis the tangent is i, and nothing overflows.
func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (2.0, -200.0), (-0.5, 0.25)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.tan %x : tensor<3xcomplex<f32>>
  %e = stablehlo.constant dense<[(0.2717526, 1.0839233), (-0.0, -1.0), (-0.5045007, 0.3124207)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %e, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, -2.0)]> : tensor<1xcomplex<f64>>
  %s = chlo.tan %y : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  %d = stablehlo.constant dense<[(0.03381282607989669, -1.0147936161466335)]> : tensor<1xcomplex<f64>>
  check.expect_close %s, %d, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

// Along the real axis there is no limit, however far from it one is.
func.func @infinite() {
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %y = stablehlo.constant dense<1.0e10> : tensor<f32>
  %z = stablehlo.complex %inf, %y : tensor<complex<f32>>
  %r = stablehlo.tan %z : tensor<complex<f32>>
  %re = stablehlo.real %r : (tensor<complex<f32>>) -> tensor<f32>
  %im = stablehlo.imag %r : (tensor<complex<f32>>) -> tensor<f32>
  %a = stablehlo.compare NE, %re, %re : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %b = stablehlo.compare NE, %im, %im : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %a, dense<true> : tensor<i1>
  check.expect_eq_const %b, dense<true> : tensor<i1>
  %w = stablehlo.complex %y, %inf : tensor<complex<f32>>
  %s = stablehlo.tan %w : tensor<complex<f32>>
  %one = stablehlo.imag %s : (tensor<complex<f32>>) -> tensor<f32>
  check.expect_eq_const %one, dense<1.0> : tensor<f32>
  func.return
}
