// reduce_precision: rounded to fewer bits of exponent and mantissa, in the same type.

// To the grid of f16 (e5m10) and of bf16 (e8m7); ties go to the even neighbour.
func.func @mantissa() {
  %x = stablehlo.constant dense<[1.00048828125, 1.00146484375, 1.0009765625, -3.14159274]> : tensor<4xf32>
  %f16 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  check.expect_eq_const %f16, dense<[1.0, 1.001953125, 1.0009765625, -3.140625]> : tensor<4xf32>
  %bf16 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>
  check.expect_eq_const %bf16, dense<[1.0, 1.0, 1.0, -3.140625]> : tensor<4xf32>
  %d = stablehlo.constant dense<[0.1, 1.0e+300]> : tensor<2xf64>
  %f32 = stablehlo.reduce_precision %d, format = e8m23 : tensor<2xf64>
  check.expect_eq_const %f32, dense<[0.10000000149011612, 0x7FF0000000000000]> : tensor<2xf64>
  func.return
}

// -----

// What is too large becomes infinite, before or after it is rounded; what is below the normal numbers, zero.
func.func @range() {
  %x = stablehlo.constant dense<[65504.0, 65519.0, 65520.0, -1.0e+06, 6.1035156e-05, 6.0e-05]> : tensor<6xf32>
  %r = stablehlo.reduce_precision %x, format = e5m10 : tensor<6xf32>
  check.expect_eq_const %r, dense<[65504.0, 65504.0, 0x7F800000, 0xFF800000, 6.1035156e-05, 0.0]> : tensor<6xf32>
  %y = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-45]> : tensor<4xf32>
  %s = stablehlo.reduce_precision %y, format = e8m23 : tensor<4xf32>
  check.expect_almost_eq_const %s, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-45]> : tensor<4xf32>, tolerance = 0.0
  %small = stablehlo.constant dense<-1.0e-30> : tensor<f32>
  %zero = stablehlo.reduce_precision %small, format = e5m2 : tensor<f32>
  %bits = stablehlo.bitcast_convert %zero : (tensor<f32>) -> tensor<ui32>
  check.expect_eq_const %bits, dense<0x80000000> : tensor<ui32>
  func.return
}

// -----

// Of narrow formats; a wider target changes nothing.
func.func @narrow_formats() {
  %x = stablehlo.constant dense<[1.0078125, 3.140625, -255.0]> : tensor<3xbf16>
  %r = stablehlo.reduce_precision %x, format = e8m3 : tensor<3xbf16>
  check.expect_eq_const %r, dense<[1.0, 3.25, -256.0]> : tensor<3xbf16>
  %same = stablehlo.reduce_precision %x, format = e11m52 : tensor<3xbf16>
  check.expect_eq %same, %x : tensor<3xbf16>
  %y = stablehlo.constant dense<[1.75, 13.0]> : tensor<2xf8E4M3FN>
  %s = stablehlo.reduce_precision %y, format = e4m1 : tensor<2xf8E4M3FN>
  check.expect_eq_const %s, dense<[2.0, 12.0]> : tensor<2xf8E4M3FN>
  func.return
}
