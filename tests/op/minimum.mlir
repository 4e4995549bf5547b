// minimum: a total order of numbers, but for NaN, which is passed on.

// Signed and unsigned compare differently.
func.func @integers() {
  %x0 = stablehlo.constant dense<[1, -1, -2147483648]> : tensor<3xi32>
  %y0 = stablehlo.constant dense<[2, 1, 2147483647]> : tensor<3xi32>
  %r0 = stablehlo.minimum %x0, %y0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[1, -1, -2147483648]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[1, 4294967295]> : tensor<2xui32>
  %y1 = stablehlo.constant dense<[2, 1]> : tensor<2xui32>
  %r1 = stablehlo.minimum %x1, %y1 : tensor<2xui32>
  check.expect_eq_const %r1, dense<[1, 1]> : tensor<2xui32>
  %x2 = stablehlo.constant dense<[-128, 5]> : tensor<2xi8>
  %y2 = stablehlo.constant dense<[127, -5]> : tensor<2xi8>
  %r2 = stablehlo.minimum %x2, %y2 : tensor<2xi8>
  check.expect_eq_const %r2, dense<[-128, -5]> : tensor<2xi8>
  %x3 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %y3 = stablehlo.constant dense<[7, -1]> : tensor<2xi4>
  %r3 = stablehlo.minimum %x3, %y3 : tensor<2xi4>
  check.expect_eq_const %r3, dense<[-8, -1]> : tensor<2xi4>
  %x4 = stablehlo.constant dense<[8, 15]> : tensor<2xui4>
  %y4 = stablehlo.constant dense<[7, 1]> : tensor<2xui4>
  %r4 = stablehlo.minimum %x4, %y4 : tensor<2xui4>
  check.expect_eq_const %r4, dense<[7, 1]> : tensor<2xui4>
  %x5 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %y5 = stablehlo.constant dense<[1, 0]> : tensor<2xi2>
  %r5 = stablehlo.minimum %x5, %y5 : tensor<2xi2>
  check.expect_eq_const %r5, dense<[-2, 0]> : tensor<2xi2>
  %x6 = stablehlo.constant dense<[2, 3]> : tensor<2xui2>
  %y6 = stablehlo.constant dense<[1, 0]> : tensor<2xui2>
  %r6 = stablehlo.minimum %x6, %y6 : tensor<2xui2>
  check.expect_eq_const %r6, dense<[1, 0]> : tensor<2xui2>
  func.return
}

// -----

// NaN wins against everything; -0 is less than 0.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.0, 0x7FC00000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>
  %y0 = stablehlo.constant dense<[2.0, 1.0, 0x7F800000, 0x7F800000]> : tensor<4xf32>
  %r0 = stablehlo.minimum %x0, %y0 : tensor<4xf32>
  check.expect_almost_eq_const %r0, dense<[1.0, 0x7FC00000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>, tolerance = 0.0
  %x1 = stablehlo.constant dense<[0.1, -5.0]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[0.2, -6.0]> : tensor<2xf64>
  %r1 = stablehlo.minimum %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.1, -6.0]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[1.0, -3.0]> : tensor<2xbf16>
  %y2 = stablehlo.constant dense<[1.0078125, -2.0]> : tensor<2xbf16>
  %r2 = stablehlo.minimum %x2, %y2 : tensor<2xbf16>
  check.expect_eq_const %r2, dense<[1.0, -3.0]> : tensor<2xbf16>
  %x3 = stablehlo.constant dense<[448.0, 0x7F]> : tensor<2xf8E4M3FN>
  %y3 = stablehlo.constant dense<[-448.0, 1.0]> : tensor<2xf8E4M3FN>
  %r3 = stablehlo.minimum %x3, %y3 : tensor<2xf8E4M3FN>
  check.expect_almost_eq_const %r3, dense<[-448.0, 0x7F]> : tensor<2xf8E4M3FN>, tolerance = 0.0
  %zx = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %zy = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %z = stablehlo.minimum %zx, %zy : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x80000000]> : tensor<2xui32>
  func.return
}

// -----

// Of booleans and; complex numbers are ordered by their real parts, then by their imaginary ones.
func.func @others() {
  %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y0 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %r0 = stablehlo.minimum %x0, %y0 : tensor<4xi1>
  check.expect_eq_const %r0, dense<[false, false, false, true]> : tensor<4xi1>
  %x1 = stablehlo.constant dense<[(1.0, 5.0), (2.0, -3.0)]> : tensor<2xcomplex<f32>>
  %y1 = stablehlo.constant dense<[(2.0, 0.0), (2.0, -4.0)]> : tensor<2xcomplex<f32>>
  %r1 = stablehlo.minimum %x1, %y1 : tensor<2xcomplex<f32>>
  check.expect_eq_const %r1, dense<[(1.0, 5.0), (2.0, -4.0)]> : tensor<2xcomplex<f32>>
  func.return
}
