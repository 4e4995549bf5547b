// Also: broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply
// Also: broadcast_power broadcast_remainder broadcast_subtract
//
// Arithmetic on operands of different shapes: the one of lower rank is aligned at the innermost dimension or as
// broadcast_dimensions gives, and dimensions of size one are stretched.

// A vector, by default along the innermost dimension, and along the outer one.
func.func @vector() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %v = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %inner = chlo.broadcast_add %x, %v : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %inner, dense<[[11, 22], [13, 24]]> : tensor<2x2xi32>
  %outer = chlo.broadcast_add %x, %v {broadcast_dimensions = array<i64: 0>}
    : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %outer, dense<[[11, 12], [23, 24]]> : tensor<2x2xi32>
  %left = chlo.broadcast_subtract %v, %x : (tensor<2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %left, dense<[[9, 18], [7, 16]]> : tensor<2x2xi32>
  func.return
}

// -----

// Both operands are stretched; a scalar goes with everything.
func.func @sizes_of_one() {
  %row = stablehlo.constant dense<[[1.0, 2.0, 4.0]]> : tensor<1x3xf32>
  %column = stablehlo.constant dense<[[8.0], [-16.0]]> : tensor<2x1xf32>
  %product = chlo.broadcast_multiply %row, %column : (tensor<1x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %product, dense<[[8.0, 16.0, 32.0], [-16.0, -32.0, -64.0]]> : tensor<2x3xf32>
  %quotient = chlo.broadcast_divide %column, %row : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %quotient, dense<[[8.0, 4.0, 2.0], [-16.0, -8.0, -4.0]]> : tensor<2x3xf32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %square = chlo.broadcast_power %row, %two : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  check.expect_eq_const %square, dense<[[1.0, 4.0, 16.0]]> : tensor<1x3xf32>
  func.return
}

// -----

// The others, with the corners of the ops that they broadcast.
func.func @others() {
  %x = stablehlo.constant dense<[[7, -7], [-128, 0]]> : tensor<2x2xi8>
  %y = stablehlo.constant dense<[-3, 0]> : tensor<2xi8>
  %rest = chlo.broadcast_remainder %x, %y : (tensor<2x2xi8>, tensor<2xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %rest, dense<[[1, -7], [-2, 0]]> : tensor<2x2xi8>
  %most = chlo.broadcast_maximum %x, %y : (tensor<2x2xi8>, tensor<2xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %most, dense<[[7, 0], [-3, 0]]> : tensor<2x2xi8>
  %least = chlo.broadcast_minimum %x, %y : (tensor<2x2xi8>, tensor<2xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %least, dense<[[-3, -7], [-128, 0]]> : tensor<2x2xi8>
  %nan = stablehlo.constant dense<0x7FC0> : tensor<bf16>
  %one = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %passed = chlo.broadcast_maximum %nan, %one : (tensor<bf16>, tensor<1xbf16>) -> tensor<1xbf16>
  check.expect_almost_eq_const %passed, dense<0x7FC0> : tensor<1xbf16>, tolerance = 0.0
  func.return
}

// -----

// Sizes known only at run time, one of which is one; no elements at all.
func.func @shapes() {
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xui16>
  %v = stablehlo.constant dense<[10, 20, 30]> : tensor<3xui16>
  %a = tensor.cast %x : tensor<2x1xui16> to tensor<?x?xui16>
  %b = tensor.cast %v : tensor<3xui16> to tensor<?xui16>
  %c = chlo.broadcast_add %a, %b : (tensor<?x?xui16>, tensor<?xui16>) -> tensor<?x?xui16>
  %r = tensor.cast %c : tensor<?x?xui16> to tensor<2x3xui16>
  check.expect_eq_const %r, dense<[[11, 21, 31], [12, 22, 32]]> : tensor<2x3xui16>
  %none = stablehlo.constant dense<> : tensor<0x1xf64>
  %row = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %n = chlo.broadcast_subtract %none, %row : (tensor<0x1xf64>, tensor<2xf64>) -> tensor<0x2xf64>
  check.expect_eq_const %n, dense<> : tensor<0x2xf64>
  func.return
}
