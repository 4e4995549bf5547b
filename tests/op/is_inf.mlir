// Also: is_neg_inf is_pos_inf
//
// Which numbers are infinite, and of which sign.

// Of either sign.
func.func @is_inf() {
  %x0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 3.4028235e+38, -0.0]> : tensor<5xf32>
  %r0 = chlo.is_inf %x0 : tensor<5xf32> -> tensor<5xi1>
  check.expect_eq_const %r0, dense<[true, true, false, false, false]> : tensor<5xi1>
  %x1 = stablehlo.constant dense<[0xFFF0000000000000, 1.0e+308, 0x7FF0000000000000]> : tensor<3xf64>
  %r1 = chlo.is_inf %x1 : tensor<3xf64> -> tensor<3xi1>
  check.expect_eq_const %r1, dense<[true, false, true]> : tensor<3xi1>
  %x2 = stablehlo.constant dense<[0x7F80, 1.0, 0xFF80]> : tensor<3xbf16>
  %r2 = chlo.is_inf %x2 : tensor<3xbf16> -> tensor<3xi1>
  check.expect_eq_const %r2, dense<[true, false, true]> : tensor<3xi1>
  %x3 = stablehlo.constant dense<[0xFC, 0x7C, -57344.0]> : tensor<3xf8E5M2>
  %r3 = chlo.is_inf %x3 : tensor<3xf8E5M2> -> tensor<3xi1>
  check.expect_eq_const %r3, dense<[true, true, false]> : tensor<3xi1>
  %x4 = stablehlo.constant dense<[0x7F, 448.0]> : tensor<2xf8E4M3FN>
  %r4 = chlo.is_inf %x4 : tensor<2xf8E4M3FN> -> tensor<2xi1>
  check.expect_eq_const %r4, dense<[false, false]> : tensor<2xi1>
  func.return
}

// -----

// Only the positive one.
func.func @is_pos_inf() {
  %x0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 3.4028235e+38, -0.0]> : tensor<5xf32>
  %r0 = chlo.is_pos_inf %x0 : tensor<5xf32> -> tensor<5xi1>
  check.expect_eq_const %r0, dense<[true, false, false, false, false]> : tensor<5xi1>
  %x1 = stablehlo.constant dense<[0xFFF0000000000000, 1.0e+308, 0x7FF0000000000000]> : tensor<3xf64>
  %r1 = chlo.is_pos_inf %x1 : tensor<3xf64> -> tensor<3xi1>
  check.expect_eq_const %r1, dense<[false, false, true]> : tensor<3xi1>
  %x2 = stablehlo.constant dense<[0x7F80, 1.0, 0xFF80]> : tensor<3xbf16>
  %r2 = chlo.is_pos_inf %x2 : tensor<3xbf16> -> tensor<3xi1>
  check.expect_eq_const %r2, dense<[true, false, false]> : tensor<3xi1>
  %x3 = stablehlo.constant dense<[0xFC, 0x7C, -57344.0]> : tensor<3xf8E5M2>
  %r3 = chlo.is_pos_inf %x3 : tensor<3xf8E5M2> -> tensor<3xi1>
  check.expect_eq_const %r3, dense<[false, true, false]> : tensor<3xi1>
  %x4 = stablehlo.constant dense<[0x7F, 448.0]> : tensor<2xf8E4M3FN>
  %r4 = chlo.is_pos_inf %x4 : tensor<2xf8E4M3FN> -> tensor<2xi1>
  check.expect_eq_const %r4, dense<[false, false]> : tensor<2xi1>
  func.return
}

// -----

// Only the negative one.
func.func @is_neg_inf() {
  %x0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 3.4028235e+38, -0.0]> : tensor<5xf32>
  %r0 = chlo.is_neg_inf %x0 : tensor<5xf32> -> tensor<5xi1>
  check.expect_eq_const %r0, dense<[false, true, false, false, false]> : tensor<5xi1>
  %x1 = stablehlo.constant dense<[0xFFF0000000000000, 1.0e+308, 0x7FF0000000000000]> : tensor<3xf64>
  %r1 = chlo.is_neg_inf %x1 : tensor<3xf64> -> tensor<3xi1>
  check.expect_eq_const %r1, dense<[true, false, false]> : tensor<3xi1>
  %x2 = stablehlo.constant dense<[0x7F80, 1.0, 0xFF80]> : tensor<3xbf16>
  %r2 = chlo.is_neg_inf %x2 : tensor<3xbf16> -> tensor<3xi1>
  check.expect_eq_const %r2, dense<[false, false, true]> : tensor<3xi1>
  %x3 = stablehlo.constant dense<[0xFC, 0x7C, -57344.0]> : tensor<3xf8E5M2>
  %r3 = chlo.is_neg_inf %x3 : tensor<3xf8E5M2> -> tensor<3xi1>
  check.expect_eq_const %r3, dense<[true, false, false]> : tensor<3xi1>
  %x4 = stablehlo.constant dense<[0x7F, 448.0]> : tensor<2xf8E4M3FN>
  %r4 = chlo.is_neg_inf %x4 : tensor<2xf8E4M3FN> -> tensor<2xi1>
  check.expect_eq_const %r4, dense<[false, false]> : tensor<2xi1>
  func.return
}

// -----

// Sizes known only at run time; no elements.
func.func @shapes() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %a = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %b = chlo.is_inf %a : tensor<?xf32> -> tensor<?xi1>
  %r = tensor.cast %b : tensor<?xi1> to tensor<2xi1>
  check.expect_eq_const %r, dense<[false, true]> : tensor<2xi1>
  %none = stablehlo.constant dense<> : tensor<0xf16>
  %n = chlo.is_pos_inf %none : tensor<0xf16> -> tensor<0xi1>
  check.expect_eq_const %n, dense<> : tensor<0xi1>
  func.return
}
