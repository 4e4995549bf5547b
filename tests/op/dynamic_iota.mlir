// dynamic_iota: iota of a shape that an operand holds.

func.func @shape_operand() {
  %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %r = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi32>) -> tensor<2x3xf16>
  check.expect_eq_const %r, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf16>
  func.return
}

func.func @unknown_result() {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  %r = stablehlo.dynamic_iota %two, dim = 0 : (tensor<1xi64>) -> tensor<?xi8>
  %known = tensor.cast %r : tensor<?xi8> to tensor<2xi8>
  check.expect_eq_const %known, dense<[0, 1]> : tensor<2xi8>
  func.return
}

func.func @nothing() {
  %shape = stablehlo.constant dense<[4, 0]> : tensor<2xi64>
  %r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<4x0xcomplex<f64>>
  check.expect_eq_const %r, dense<> : tensor<4x0xcomplex<f64>>
  func.return
}
