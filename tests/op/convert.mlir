// convert: between all types of numbers.

// Integers keep their low bits; into more bits they carry their sign, or zeros where they have none.
func.func @integers() {
  %x = stablehlo.constant dense<[300, -1, -129]> : tensor<3xi32>
  %i8 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %i8, dense<[44, -1, 127]> : tensor<3xi8>
  %ui4 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xui4>
  check.expect_eq_const %ui4, dense<[12, 15, 15]> : tensor<3xui4>
  %ui64 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xui64>
  check.expect_eq_const %ui64, dense<[300, 18446744073709551615, 18446744073709551487]> : tensor<3xui64>
  %n = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %wide = stablehlo.convert %n : (tensor<2xi2>) -> tensor<2xi16>
  check.expect_eq_const %wide, dense<[-2, 1]> : tensor<2xi16>
  %u = stablehlo.constant dense<[255, 128]> : tensor<2xui8>
  %i64 = stablehlo.convert %u : (tensor<2xui8>) -> tensor<2xi64>
  check.expect_eq_const %i64, dense<[255, 128]> : tensor<2xi64>
  func.return
}

// -----

// Integers that a float cannot hold are rounded to even, or overflow.
func.func @integers_to_floats() {
  %x = stablehlo.constant dense<[16777217, 16777219, -5]> : tensor<3xi32>
  %f32 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf32>
  check.expect_eq_const %f32, dense<[16777216.0, 16777220.0, -5.0]> : tensor<3xf32>
  %f16 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf16>
  check.expect_eq_const %f16, dense<[0x7C00, 0x7C00, -5.0]> : tensor<3xf16>
  %u = stablehlo.constant dense<[18446744073709551615, 9007199254740993]> : tensor<2xui64>
  %f64 = stablehlo.convert %u : (tensor<2xui64>) -> tensor<2xf64>
  check.expect_eq_const %f64, dense<[18446744073709551616.0, 9007199254740992.0]> : tensor<2xf64>
  func.return
}

// -----

// Floats are truncated towards zero.
func.func @floats_to_integers() {
  %x = stablehlo.constant dense<[2.75, -2.75, -0.5, 100.0]> : tensor<4xf32>
  %i32 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %i32, dense<[2, -2, 0, 100]> : tensor<4xi32>
  %i8 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  check.expect_eq_const %i8, dense<[2, -2, 0, 100]> : tensor<4xi8>
  %y = stablehlo.constant dense<[3.5, 7.0]> : tensor<2xf8E4M3FN>
  %i4 = stablehlo.convert %y : (tensor<2xf8E4M3FN>) -> tensor<2xi4>
  check.expect_eq_const %i4, dense<[3, 7]> : tensor<2xi4>
  func.return
}

// -----

// Narrower floats: rounded once, to even; what is too large becomes infinity, or NaN where there is none.
func.func @floats() {
  %x = stablehlo.constant dense<[1.00390625, 1.01171875, 0x7F800000, 1.0e+05]> : tensor<4xf32>
  %bf16 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  check.expect_eq_const %bf16, dense<[1.0, 1.015625, 0x7F80, 99840.0]> : tensor<4xbf16>
  %f16 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>
  check.expect_eq_const %f16, dense<[1.00390625, 1.01171875, 0x7C00, 0x7C00]> : tensor<4xf16>
  %f8 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  check.expect_almost_eq_const %f8, dense<[1.0, 1.0, 0x7F, 0x7F]> : tensor<4xf8E4M3FN>, tolerance = 0.0
  %f8inf = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E5M2>
  check.expect_eq_const %f8inf, dense<[1.0, 1.0, 0x7C, 0x7C]> : tensor<4xf8E5M2>
  // Just above half way between two f32: rounding to f32 first would lose that.
  %d = stablehlo.constant dense<[1.00390625000001, 1.0e-320]> : tensor<2xf64>
  %once = stablehlo.convert %d : (tensor<2xf64>) -> tensor<2xbf16>
  check.expect_eq_const %once, dense<[1.0078125, 0.0]> : tensor<2xbf16>
  func.return
}

// -----

// A number is true unless it is zero; booleans are 0 and 1. Complex numbers gain and lose an imaginary part.
func.func @booleans_and_complex() {
  %x = stablehlo.constant dense<[0.0, -0.0, 0.25, 0x7FC00000]> : tensor<4xf32>
  %p = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %p, dense<[false, false, true, true]> : tensor<4xi1>
  %i = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xui2>
  check.expect_eq_const %i, dense<[0, 0, 1, 1]> : tensor<4xui2>
  %f = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf64>
  check.expect_eq_const %f, dense<[0.0, 0.0, 1.0, 1.0]> : tensor<4xf64>
  %y = stablehlo.constant dense<[2, -3]> : tensor<2xi8>
  %z = stablehlo.convert %y : (tensor<2xi8>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %z, dense<[(2.0, 0.0), (-3.0, 0.0)]> : tensor<2xcomplex<f32>>
  %w = stablehlo.constant dense<[(1.5, 9.0), (-2.5, 1.0)]> : tensor<2xcomplex<f64>>
  %re = stablehlo.convert %w : (tensor<2xcomplex<f64>>) -> tensor<2xf32>
  check.expect_eq_const %re, dense<[1.5, -2.5]> : tensor<2xf32>
  func.return
}
