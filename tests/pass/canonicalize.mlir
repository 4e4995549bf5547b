// Constants go to the right; dot and broadcast are their general forms.
func.func @f(%x: tensor<2xi32>, %a: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<4x3xf32>) {
  %c = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = stablehlo.add %c, %x : tensor<2xi32>
  %1 = stablehlo.compare LE, %c, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %2 = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  %3 = stablehlo.broadcast %b, sizes = [4] : (tensor<3xf32>) -> tensor<4x3xf32>
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<4x3xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2xi32>, %arg1: tensor<2x3xf32>, %arg2: tensor<3xf32>) -> (tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<4x3xf32>) {
    %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
    %1 = stablehlo.add %arg0, %0 : tensor<2xi32>
    %2 = stablehlo.compare GE, %arg0, %0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    return %1, %2, %3, %4 : tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<4x3xf32>
  }
}
// -----
// Dimensions of size 1 come, go and move by reshape; a broadcast goes through the dimensions in order.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x3xi32>) -> tensor<1x2x3xi32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<1x2x3xi32>) -> tensor<2x1x3xi32>
  %2 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<1x2x3xi32>) -> tensor<1x3x2xi32>
  %3 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2x2xi32>
  check.expect_eq_const %1, dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
  check.expect_eq_const %2, dense<[[[1, 4], [2, 5], [3, 6]]]> : tensor<1x3x2xi32>
  check.expect_eq_const %3, dense<[[[1, 1], [4, 4]], [[2, 2], [5, 5]], [[3, 3], [6, 6]]]> : tensor<3x2x2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.reshape %0 : (tensor<2x3xi32>) -> tensor<1x2x3xi32>
    %2 = stablehlo.reshape %1 : (tensor<1x2x3xi32>) -> tensor<2x1x3xi32>
    %3 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<1x2x3xi32>) -> tensor<1x3x2xi32>
    %4 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<3x2xi32>) -> tensor<3x2x2xi32>
    check.expect_eq_const %2, dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
    check.expect_eq_const %3, dense<[[[1, 4], [2, 5], [3, 6]]]> : tensor<1x3x2xi32>
    check.expect_eq_const %5, dense<[[[1, 1], [4, 4]], [[2, 2], [5, 5]], [[3, 3], [6, 6]]]> : tensor<3x2x2xi32>
    return
  }
}
