// Sizes that are known go through; the function keeps its type.
func.func @f(%x: tensor<2x3xf32>) -> tensor<?xf32> {
  %0 = tensor.cast %x : tensor<2x3xf32> to tensor<?x3xf32>
  %1 = stablehlo.add %0, %0 : tensor<?x3xf32>
  %2 = stablehlo.exponential %1 : tensor<?x3xf32>
  %3 = stablehlo.get_dimension_size %2, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %n = stablehlo.constant dense<[6]> : tensor<1xi32>
  %4 = stablehlo.dynamic_reshape %2, %n : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %4 : tensor<?xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2x3xf32>) -> tensor<?xf32> {
    %0 = tensor.cast %arg0 : tensor<2x3xf32> to tensor<?x3xf32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
    %2 = tensor.cast %1 : tensor<2x3xf32> to tensor<?x3xf32>
    %3 = stablehlo.exponential %1 : tensor<2x3xf32>
    %4 = tensor.cast %3 : tensor<2x3xf32> to tensor<?x3xf32>
    %5 = stablehlo.constant dense<2> : tensor<i32>
    %6 = stablehlo.constant dense<6> : tensor<1xi32>
    %7 = stablehlo.reshape %3 : (tensor<2x3xf32>) -> tensor<6xf32>
    %8 = tensor.cast %7 : tensor<6xf32> to tensor<?xf32>
    return %8 : tensor<?xf32>
  }
}
// -----
// Dynamic forms of known sizes.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %n = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<2xi32>, tensor<2xi64>) -> tensor<3x2xi32>
  %1 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi32>
  %2 = stablehlo.add %0, %1 : tensor<3x2xi32>
  check.expect_eq_const %2, dense<[[1, 2], [2, 3], [3, 4]]> : tensor<3x2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xi32>) -> tensor<3x2xi32>
    %3 = stablehlo.iota dim = 0 : tensor<3x2xi32>
    %4 = stablehlo.add %2, %3 : tensor<3x2xi32>
    check.expect_eq_const %4, dense<[[1, 2], [2, 3], [3, 4]]> : tensor<3x2xi32>
    return
  }
}
// -----
// RUN: -O1
// In turn with folding: a size is computed from a size.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.optimization_barrier %x : tensor<2x3xi32>
  %0 = tensor.cast %y : tensor<2x3xi32> to tensor<?x?xi32>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x?xi32>) -> tensor<i32>
  %2 = stablehlo.get_dimension_size %0, dim = 1 : (tensor<?x?xi32>) -> tensor<i32>
  %3 = stablehlo.multiply %1, %2 : tensor<i32>
  %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
  %5 = stablehlo.dynamic_reshape %0, %4 : (tensor<?x?xi32>, tensor<1xi32>) -> tensor<?xi32>
  %6 = tensor.cast %5 : tensor<?xi32> to tensor<6xi32>
  check.expect_eq_const %6, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.optimization_barrier %0 : tensor<2x3xi32>
    %2 = stablehlo.reshape %1 : (tensor<2x3xi32>) -> tensor<6xi32>
    check.expect_eq_const %2, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
    return
  }
}
