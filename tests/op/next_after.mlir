// next_after: the neighbour of the first operand in the direction of the second.

// Across zero, from the largest number to infinity, and within the subnormal numbers.
func.func @f32_and_f64() {
  %x0 = stablehlo.constant dense<[1.0, 1.0, 0.0, -0.0, 3.4028235e+38, 1.1754944e-38, 0x7F800000, 2.0]> : tensor<8xf32>
  %y0 = stablehlo.constant dense<[2.0, 0.0, 1.0, -1.0, 0x7F800000, 0.0, 0.0, 2.0]> : tensor<8xf32>
  %r0 = chlo.next_after %x0, %y0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  check.expect_eq_const %r0, dense<[1.0000001, 0.99999994, 1.0e-45, -1.0e-45, 0x7F800000, 1.1754942e-38, 3.4028235e+38,
                                    2.0]> : tensor<8xf32>
  %x1 = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[2.0, -2.0]> : tensor<2xf64>
  %r1 = chlo.next_after %x1, %y1 : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
  check.expect_eq_const %r1, dense<[1.0000000000000002, -1.0000000000000002]> : tensor<2xf64>
  func.return
}

// -----

// NaN on either side; equal operands give the second, also of zeros.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %y0 = stablehlo.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %r0 = chlo.next_after %x0, %y0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  check.expect_almost_eq_const %r0, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  %zx = stablehlo.constant dense<[0.0, -0.0, 1.0e-45]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[-0.0, 0.0, -1.0]> : tensor<3xf32>
  %z = chlo.next_after %zx, %zy : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000, 0x00000000]> : tensor<3xui32>
  func.return
}

// -----

// On the grid of every format.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, 6.55e+04]> : tensor<2xf16>
  %y0 = stablehlo.constant dense<[2.0, 0x7C00]> : tensor<2xf16>
  %r0 = chlo.next_after %x0, %y0 : tensor<2xf16>, tensor<2xf16> -> tensor<2xf16>
  check.expect_eq_const %r0, dense<[1.001, 0x7C00]> : tensor<2xf16>
  %x1 = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xbf16>
  %y1 = stablehlo.constant dense<[0.0, -1.0]> : tensor<2xbf16>
  %r1 = chlo.next_after %x1, %y1 : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r1, dense<[0.99609375, -9.1835e-41]> : tensor<2xbf16>
  %x2 = stablehlo.constant dense<[448.0, 1.0]> : tensor<2xf8E4M3FN>
  %y2 = stablehlo.constant dense<[-1.0, 2.0]> : tensor<2xf8E4M3FN>
  %r2 = chlo.next_after %x2, %y2 : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  check.expect_eq_const %r2, dense<[416.0, 1.125]> : tensor<2xf8E4M3FN>
  %x3 = stablehlo.constant dense<[57344.0, 1.0]> : tensor<2xf8E5M2>
  %y3 = stablehlo.constant dense<[0x7C, 0.0]> : tensor<2xf8E5M2>
  %r3 = chlo.next_after %x3, %y3 : tensor<2xf8E5M2>, tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  check.expect_eq_const %r3, dense<[0x7C, 0.875]> : tensor<2xf8E5M2>
  func.return
}
