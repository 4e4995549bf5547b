// is_finite: neither infinite nor NaN.

// Every format that has them.
func.func @formats() {
  %x0 = stablehlo.constant dense<[0.0, 1.0e-45, 3.4028235e+38, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %r0 = stablehlo.is_finite %x0 : (tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %r0, dense<[true, true, true, false, false, false]> : tensor<6xi1>
  %x1 = stablehlo.constant dense<[1.0e+308, 0xFFF0000000000000, 0x7FF8000000000000]> : tensor<3xf64>
  %r1 = stablehlo.is_finite %x1 : (tensor<3xf64>) -> tensor<3xi1>
  check.expect_eq_const %r1, dense<[true, false, false]> : tensor<3xi1>
  %x2 = stablehlo.constant dense<[6.55e+04, 0x7C00]> : tensor<2xf16>
  %r2 = stablehlo.is_finite %x2 : (tensor<2xf16>) -> tensor<2xi1>
  check.expect_eq_const %r2, dense<[true, false]> : tensor<2xi1>
  %x3 = stablehlo.constant dense<[3.0040553e+38, 0x7FC0]> : tensor<2xbf16>
  %r3 = stablehlo.is_finite %x3 : (tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %r3, dense<[true, false]> : tensor<2xi1>
  %x4 = stablehlo.constant dense<[57344.0, 0x7C, 0x7E]> : tensor<3xf8E5M2>
  %r4 = stablehlo.is_finite %x4 : (tensor<3xf8E5M2>) -> tensor<3xi1>
  check.expect_eq_const %r4, dense<[true, false, false]> : tensor<3xi1>
  func.return
}

// -----

// Formats with NaN alone, and with neither.
func.func @without_infinity() {
  %x0 = stablehlo.constant dense<[448.0, 0x7F]> : tensor<2xf8E4M3FN>
  %r0 = stablehlo.is_finite %x0 : (tensor<2xf8E4M3FN>) -> tensor<2xi1>
  check.expect_eq_const %r0, dense<[true, false]> : tensor<2xi1>
  %x1 = stablehlo.constant dense<[240.0, 0x80]> : tensor<2xf8E4M3FNUZ>
  %r1 = stablehlo.is_finite %x1 : (tensor<2xf8E4M3FNUZ>) -> tensor<2xi1>
  check.expect_eq_const %r1, dense<[true, false]> : tensor<2xi1>
  %x2 = stablehlo.constant dense<[6.0, -0.5]> : tensor<2xf4E2M1FN>
  %r2 = stablehlo.is_finite %x2 : (tensor<2xf4E2M1FN>) -> tensor<2xi1>
  check.expect_eq_const %r2, dense<[true, true]> : tensor<2xi1>
  %x3 = stablehlo.constant dense<[28.0, 0.0]> : tensor<2xf6E3M2FN>
  %r3 = stablehlo.is_finite %x3 : (tensor<2xf6E3M2FN>) -> tensor<2xi1>
  check.expect_eq_const %r3, dense<[true, true]> : tensor<2xi1>
  func.return
}

// -----

// Sizes known only at run time; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %a = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %b = stablehlo.is_finite %a : (tensor<?xf32>) -> tensor<?xi1>
  %r = tensor.cast %b : tensor<?xi1> to tensor<2xi1>
  check.expect_eq_const %r, dense<[true, false]> : tensor<2xi1>
  %p = stablehlo.constant dense<2.0> : tensor<bf16>
  %q = stablehlo.is_finite %p : (tensor<bf16>) -> tensor<i1>
  check.expect_eq_const %q, dense<true> : tensor<i1>
  func.return
}
