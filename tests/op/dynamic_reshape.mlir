// dynamic_reshape: reshape to a shape that an operand holds.

func.func @shape_operand() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi16>
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi16>, tensor<2xi32>) -> tensor<3x2xi16>
  check.expect_eq_const %r, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi16>
  func.return
}

func.func @unknown_result() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %one = stablehlo.constant dense<1> : tensor<2xi64>
  %shape = stablehlo.add %one, %one : tensor<2xi64>
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %known = tensor.cast %r : tensor<?x?xf32> to tensor<2x2xf32>
  check.expect_eq_const %known, dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  func.return
}

func.func @to_scalar() {
  %x = stablehlo.constant dense<[[true]]> : tensor<1x1xi1>
  %shape = stablehlo.constant dense<> : tensor<0xi64>
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<1x1xi1>, tensor<0xi64>) -> tensor<i1>
  check.expect_eq_const %r, dense<true> : tensor<i1>
  func.return
}
