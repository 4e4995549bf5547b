// dynamic_broadcast_in_dim: broadcast_in_dim to a shape that an operand holds.

func.func @shape_operand() {
  %x = stablehlo.constant dense<[[5], [6]]> : tensor<2x1xi64>
  %shape = stablehlo.constant dense<[3, 2, 2]> : tensor<3xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1, 2]
    : (tensor<2x1xi64>, tensor<3xi32>) -> tensor<3x2x2xi64>
  check.expect_eq_const %r, dense<[[[5, 5], [6, 6]], [[5, 5], [6, 6]], [[5, 5], [6, 6]]]> : tensor<3x2x2xi64>
  func.return
}

func.func @shape_of_other_integers() {
  %x = stablehlo.constant dense<2.5> : tensor<f16>
  %shape = stablehlo.constant dense<[1, 3]> : tensor<2xui8>
  %r = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) {
    broadcast_dimensions = array<i64>,
    known_expanding_dimensions = array<i64>,
    known_nonexpanding_dimensions = array<i64>
  } : (tensor<f16>, tensor<2xui8>) -> tensor<1x3xf16>
  check.expect_eq_const %r, dense<2.5> : tensor<1x3xf16>
  func.return
}

func.func @unknown_result() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %two = stablehlo.constant dense<2> : tensor<2xi64>
  %shape = stablehlo.add %two, %two : tensor<2xi64>
  %half = stablehlo.subtract %shape, %two : tensor<2xi64>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %half, dims = [1] : (tensor<2xi1>, tensor<2xi64>) -> tensor<?x?xi1>
  %known = tensor.cast %r : tensor<?x?xi1> to tensor<2x2xi1>
  check.expect_eq_const %known, dense<[[true, false], [true, false]]> : tensor<2x2xi1>
  func.return
}

func.func @to_nothing() {
  %x = stablehlo.constant dense<[[1.0]]> : tensor<1x1xf32>
  %shape = stablehlo.constant dense<[2, 0]> : tensor<2xi64>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<2x0xf32>
  check.expect_eq_const %r, dense<> : tensor<2x0xf32>
  func.return
}
