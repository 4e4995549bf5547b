// multiply: integers wrap, booleans are joined by and.

// Only the low bits of a product are left.
func.func @integers() {
  %x0 = stablehlo.constant dense<[65536, -2147483648, -3]> : tensor<3xi32>
  %y0 = stablehlo.constant dense<[65537, -1, 7]> : tensor<3xi32>
  %r0 = stablehlo.multiply %x0, %y0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[65536, -2147483648, -21]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[4294967296, -2]> : tensor<2xi64>
  %y1 = stablehlo.constant dense<[4294967297, -9223372036854775808]> : tensor<2xi64>
  %r1 = stablehlo.multiply %x1, %y1 : tensor<2xi64>
  check.expect_eq_const %r1, dense<[4294967296, 0]> : tensor<2xi64>
  %x2 = stablehlo.constant dense<[65535, 300]> : tensor<2xui16>
  %y2 = stablehlo.constant dense<[65535, 300]> : tensor<2xui16>
  %r2 = stablehlo.multiply %x2, %y2 : tensor<2xui16>
  check.expect_eq_const %r2, dense<[1, 24464]> : tensor<2xui16>
  %x3 = stablehlo.constant dense<[16, -128]> : tensor<2xi8>
  %y3 = stablehlo.constant dense<[17, 3]> : tensor<2xi8>
  %r3 = stablehlo.multiply %x3, %y3 : tensor<2xi8>
  check.expect_eq_const %r3, dense<[16, -128]> : tensor<2xi8>
  %x4 = stablehlo.constant dense<[5, -8]> : tensor<2xi4>
  %y4 = stablehlo.constant dense<[3, -1]> : tensor<2xi4>
  %r4 = stablehlo.multiply %x4, %y4 : tensor<2xi4>
  check.expect_eq_const %r4, dense<[-1, -8]> : tensor<2xi4>
  %x5 = stablehlo.constant dense<[3]> : tensor<1xui2>
  %y5 = stablehlo.constant dense<[3]> : tensor<1xui2>
  %r5 = stablehlo.multiply %x5, %y5 : tensor<1xui2>
  check.expect_eq_const %r5, dense<[1]> : tensor<1xui2>
  func.return
}

// -----

// Overflow, underflow, and rounding to even.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.5, 1.0e+38, 1.0e-30, 0.1]> : tensor<4xf32>
  %y0 = stablehlo.constant dense<[-2.0, 10.0, 1.0e-30, 3.0]> : tensor<4xf32>
  %r0 = stablehlo.multiply %x0, %y0 : tensor<4xf32>
  check.expect_eq_const %r0, dense<[-3.0, 0x7F800000, 0.0, 0.3]> : tensor<4xf32>
  %x1 = stablehlo.constant dense<[0.1, 1.0e-200]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[3.0, 1.0e-200]> : tensor<2xf64>
  %r1 = stablehlo.multiply %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.30000000000000004, 0.0]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[255.9, 0.001]> : tensor<2xf16>
  %y2 = stablehlo.constant dense<[256.0, 0.0001]> : tensor<2xf16>
  %r2 = stablehlo.multiply %x2, %y2 : tensor<2xf16>
  check.expect_eq_const %r2, dense<[6.55e+04, 1.0e-07]> : tensor<2xf16>
  %x3 = stablehlo.constant dense<[1.0078125]> : tensor<1xbf16>
  %y3 = stablehlo.constant dense<[1.0078125]> : tensor<1xbf16>
  %r3 = stablehlo.multiply %x3, %y3 : tensor<1xbf16>
  check.expect_eq_const %r3, dense<[1.015625]> : tensor<1xbf16>
  %x4 = stablehlo.constant dense<[15.0, 240.0]> : tensor<2xf8E4M3>
  %y4 = stablehlo.constant dense<[16.0, 2.0]> : tensor<2xf8E4M3>
  %r4 = stablehlo.multiply %x4, %y4 : tensor<2xf8E4M3>
  check.expect_eq_const %r4, dense<[240.0, 0x78]> : tensor<2xf8E4M3>
  func.return
}

// -----

// 0 * inf is NaN; signs multiply, also those of zeros.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %y0 = stablehlo.constant dense<[0x7F800000, -2.0, 0.0]> : tensor<3xf32>
  %r0 = stablehlo.multiply %x0, %y0 : tensor<3xf32>
  check.expect_almost_eq_const %r0, dense<[0x7FC00000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %zx = stablehlo.constant dense<[0.0, -0.0, -1.0e-30]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[-2.0, -2.0, 1.0e-30]> : tensor<3xf32>
  %z = stablehlo.multiply %zx, %zy : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000, 0x80000000]> : tensor<3xui32>
  func.return
}

// -----

// Booleans and complex numbers.
func.func @others() {
  %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y0 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %r0 = stablehlo.multiply %x0, %y0 : tensor<4xi1>
  check.expect_eq_const %r0, dense<[false, false, false, true]> : tensor<4xi1>
  %x1 = stablehlo.constant dense<[(1.0, 2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %y1 = stablehlo.constant dense<[(3.0, -1.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %r1 = stablehlo.multiply %x1, %y1 : tensor<2xcomplex<f32>>
  check.expect_eq_const %r1, dense<[(5.0, 5.0), (-1.0, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

// Quantised numbers: 1.5 * -2 and 3 * 10, of which the second is too large for the result.
func.func @quantised() {
  %x = stablehlo.constant dense<[3, 6]> : tensor<2xi8>
  %y = stablehlo.constant dense<[-8, 40]> : tensor<2xi8>
  %p = stablehlo.bitcast_convert %x : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8:f32, 0.5:0>>
  %q = stablehlo.bitcast_convert %y : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8:f32, 0.25:0>>
  %r = stablehlo.multiply %p, %q
    : (tensor<2x!quant.uniform<i8:f32, 0.5:0>>, tensor<2x!quant.uniform<i8:f32, 0.25:0>>)
    -> tensor<2x!quant.uniform<i8:f32, 0.125:10>>
  %s = stablehlo.bitcast_convert %r : (tensor<2x!quant.uniform<i8:f32, 0.125:10>>) -> tensor<2xi8>
  check.expect_eq_const %s, dense<[-14, 127]> : tensor<2xi8>
  func.return
}
