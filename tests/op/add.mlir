// add: integers wrap, booleans are joined by or.

// Integers wrap around at the ends of their type.
func.func @integers() {
  %x0 = stablehlo.constant dense<[1, 2147483647, -2147483648]> : tensor<3xi32>
  %y0 = stablehlo.constant dense<[2, 1, -1]> : tensor<3xi32>
  %r0 = stablehlo.add %x0, %y0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[3, -2147483648, 2147483647]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[9223372036854775807, -5]> : tensor<2xi64>
  %y1 = stablehlo.constant dense<[9223372036854775807, 3]> : tensor<2xi64>
  %r1 = stablehlo.add %x1, %y1 : tensor<2xi64>
  check.expect_eq_const %r1, dense<[-2, -2]> : tensor<2xi64>
  %x2 = stablehlo.constant dense<[200, 255]> : tensor<2xui8>
  %y2 = stablehlo.constant dense<[100, 1]> : tensor<2xui8>
  %r2 = stablehlo.add %x2, %y2 : tensor<2xui8>
  check.expect_eq_const %r2, dense<[44, 0]> : tensor<2xui8>
  %x3 = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %y3 = stablehlo.constant dense<[1, -1, -5]> : tensor<3xi4>
  %r3 = stablehlo.add %x3, %y3 : tensor<3xi4>
  check.expect_eq_const %r3, dense<[-8, 7, -2]> : tensor<3xi4>
  %x4 = stablehlo.constant dense<[3, 2]> : tensor<2xui2>
  %y4 = stablehlo.constant dense<[3, 1]> : tensor<2xui2>
  %r4 = stablehlo.add %x4, %y4 : tensor<2xui2>
  check.expect_eq_const %r4, dense<[2, 3]> : tensor<2xui2>
  %x5 = stablehlo.constant dense<[1, -2]> : tensor<2xi2>
  %y5 = stablehlo.constant dense<[1, -2]> : tensor<2xi2>
  %r5 = stablehlo.add %x5, %y5 : tensor<2xi2>
  check.expect_eq_const %r5, dense<[-2, 0]> : tensor<2xi2>
  func.return
}

// -----

// Overflow gives infinity where the format has one, NaN where it has none; ties round to even.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.5, 3.4028235e+38, 1.6777216e+07, 1.0e-45]> : tensor<4xf32>
  %y0 = stablehlo.constant dense<[-0.25, 3.4028235e+38, 1.0, 1.0e-45]> : tensor<4xf32>
  %r0 = stablehlo.add %x0, %y0 : tensor<4xf32>
  check.expect_eq_const %r0, dense<[1.25, 0x7F800000, 1.6777216e+07, 3.0e-45]> : tensor<4xf32>
  %x1 = stablehlo.constant dense<[0.1, 1.0e+308]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[0.2, 1.0e+308]> : tensor<2xf64>
  %r1 = stablehlo.add %x1, %y1 : tensor<2xf64>
  check.expect_eq_const %r1, dense<[0.30000000000000004, 0x7FF0000000000000]> : tensor<2xf64>
  %x2 = stablehlo.constant dense<[256.0, 256.0]> : tensor<2xbf16>
  %y2 = stablehlo.constant dense<[1.0, 3.0]> : tensor<2xbf16>
  %r2 = stablehlo.add %x2, %y2 : tensor<2xbf16>
  check.expect_eq_const %r2, dense<[256.0, 260.0]> : tensor<2xbf16>
  %x3 = stablehlo.constant dense<[448.0, 1.0]> : tensor<2xf8E4M3FN>
  %y3 = stablehlo.constant dense<[64.0, 0.0625]> : tensor<2xf8E4M3FN>
  %r3 = stablehlo.add %x3, %y3 : tensor<2xf8E4M3FN>
  check.expect_almost_eq_const %r3, dense<[0x7F, 1.0]> : tensor<2xf8E4M3FN>, tolerance = 0.0
  %x4 = stablehlo.constant dense<[57344.0, 4.0]> : tensor<2xf8E5M2>
  %y4 = stablehlo.constant dense<[57344.0, 1.5]> : tensor<2xf8E5M2>
  %r4 = stablehlo.add %x4, %y4 : tensor<2xf8E5M2>
  check.expect_eq_const %r4, dense<[0x7C, 6.0]> : tensor<2xf8E5M2>
  func.return
}

// -----

// inf - inf is NaN; only -0 and -0 make -0.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %y0 = stablehlo.constant dense<[0xFF800000, 1.0, 1.0]> : tensor<3xf32>
  %r0 = stablehlo.add %x0, %y0 : tensor<3xf32>
  check.expect_almost_eq_const %r0, dense<[0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %zx = stablehlo.constant dense<[0.0, -0.0, 1.0]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[-0.0, -0.0, -1.0]> : tensor<3xf32>
  %z = stablehlo.add %zx, %zy : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000, 0x00000000]> : tensor<3xui32>
  func.return
}

// -----

// Booleans and complex numbers.
func.func @others() {
  %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y0 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %r0 = stablehlo.add %x0, %y0 : tensor<4xi1>
  check.expect_eq_const %r0, dense<[false, true, true, true]> : tensor<4xi1>
  %x1 = stablehlo.constant dense<[(1.0, -2.0), (0x7F800000, 0.5)]> : tensor<2xcomplex<f32>>
  %y1 = stablehlo.constant dense<[(0.5, 4.0), (1.0, 0.25)]> : tensor<2xcomplex<f32>>
  %r1 = stablehlo.add %x1, %y1 : tensor<2xcomplex<f32>>
  check.expect_eq_const %r1, dense<[(1.5, 2.0), (0x7F800000, 0.75)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; scalars.
func.func @shapes() {
  %x = stablehlo.constant dense<[1, -2, 30]> : tensor<3xi16>
  %y = stablehlo.constant dense<[4, 5, -60]> : tensor<3xi16>
  %a = tensor.cast %x : tensor<3xi16> to tensor<?xi16>
  %b = tensor.cast %y : tensor<3xi16> to tensor<?xi16>
  %c = stablehlo.add %a, %b : tensor<?xi16>
  %r = tensor.cast %c : tensor<?xi16> to tensor<3xi16>
  check.expect_eq_const %r, dense<[5, 3, -30]> : tensor<3xi16>
  %none = stablehlo.constant dense<> : tensor<2x0xi16>
  %n = stablehlo.add %none, %none : tensor<2x0xi16>
  check.expect_eq_const %n, dense<> : tensor<2x0xi16>
  %p = stablehlo.constant dense<1> : tensor<i16>
  %q = stablehlo.constant dense<4> : tensor<i16>
  %s = stablehlo.add %p, %q : tensor<i16>
  check.expect_eq_const %s, dense<5> : tensor<i16>
  func.return
}

func.func @empty_with_large_dimensions() {
  %x = stablehlo.constant dense<1.0> : tensor<4611686018427387904x4x0xf32>
  %r = stablehlo.add %x, %x : tensor<4611686018427387904x4x0xf32>
  check.expect_eq_const %r, dense<> : tensor<4611686018427387904x4x0xf32>
  func.return
}
