// iota: an element is its index along one dimension, in the element type.

func.func @dimensions() {
  %rows = stablehlo.iota dim = 0 : tensor<3x2xi32>
  check.expect_eq_const %rows, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>
  %columns = stablehlo.iota dim = 1 : tensor<3x2xi32>
  check.expect_eq_const %columns, dense<[[0, 1], [0, 1], [0, 1]]> : tensor<3x2xi32>
  %middle = stablehlo.iota dim = 1 : tensor<2x2x2xui64>
  check.expect_eq_const %middle, dense<[[[0, 0], [1, 1]], [[0, 0], [1, 1]]]> : tensor<2x2x2xui64>
  func.return
}

func.func @floats() {
  %f64 = stablehlo.iota dim = 0 : tensor<3xf64>
  check.expect_eq_const %f64, dense<[0.0, 1.0, 2.0]> : tensor<3xf64>
  %bf16 = stablehlo.iota dim = 0 : tensor<3xbf16>
  check.expect_eq_const %bf16, dense<[0.0, 1.0, 2.0]> : tensor<3xbf16>
  %complex = stablehlo.iota dim = 0 : tensor<2xcomplex<f32>>
  check.expect_eq_const %complex, dense<[(0.0, 0.0), (1.0, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// Rounded to nearest even where the format has no such number.
func.func @rounded() {
  %i = stablehlo.iota dim = 0 : tensor<20xf8E5M2>
  %r = stablehlo.slice %i [8:16] : (tensor<20xf8E5M2>) -> tensor<8xf8E5M2>
  check.expect_eq_const %r, dense<[8.0, 8.0, 10.0, 12.0, 12.0, 12.0, 14.0, 16.0]> : tensor<8xf8E5M2>
  func.return
}

// Integers that do not fit wrap around.
func.func @wrapped() {
  %i4 = stablehlo.iota dim = 0 : tensor<10xi4>
  check.expect_eq_const %i4, dense<[0, 1, 2, 3, 4, 5, 6, 7, -8, -7]> : tensor<10xi4>
  %ui2 = stablehlo.iota dim = 0 : tensor<6xui2>
  check.expect_eq_const %ui2, dense<[0, 1, 2, 3, 0, 1]> : tensor<6xui2>
  func.return
}

func.func @nothing() {
  %r = stablehlo.iota dim = 0 : tensor<0x3xi8>
  check.expect_eq_const %r, dense<> : tensor<0x3xi8>
  %s = stablehlo.iota dim = 0 : tensor<9223372036854775807x0xi8>
  check.expect_eq_const %s, dense<> : tensor<9223372036854775807x0xi8>
  func.return
}

// -----

func.func @dimension_out_of_range() {
  // expected-error@+1 {{[iota_c1]}}
  %r = stablehlo.iota dim = 1 : tensor<3xi32>
  func.return
}
