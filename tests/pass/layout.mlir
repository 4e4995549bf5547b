// Convolutions in one order, what is between them in another: only the transposes of the parameter and of the result are left.
// RUN: --passes=layout,simplify,fold,dce
func.func @chain(%x: tensor<2x4x6x6xf32>, %v: tensor<3x3x4x8xf32>, %w: tensor<3x3x8x8xf32>, %b: tensor<8xf32>) -> tensor<2x8x6x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<2x8x6x6xf32>
  %xt = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %c = stablehlo.convolution(%xt, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x6x6x8xf32>
  %ct = stablehlo.transpose %c, dims = [0, 3, 1, 2] : (tensor<2x6x6x8xf32>) -> tensor<2x8x6x6xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<2x8x6x6xf32>
  %a = stablehlo.add %ct, %bb : tensor<2x8x6x6xf32>
  %r = stablehlo.maximum %a, %zero : tensor<2x8x6x6xf32>
  %rt = stablehlo.transpose %r, dims = [0, 2, 3, 1] : (tensor<2x8x6x6xf32>) -> tensor<2x6x6x8xf32>
  %d = stablehlo.convolution(%rt, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x6x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x6x6x8xf32>
  %dt = stablehlo.transpose %d, dims = [0, 3, 1, 2] : (tensor<2x6x6x8xf32>) -> tensor<2x8x6x6xf32>
  %s = stablehlo.add %dt, %r : tensor<2x8x6x6xf32>
  return %s : tensor<2x8x6x6xf32>
}
// ----- expected
module {
  func.func @chain(%arg0: tensor<2x4x6x6xf32>, %arg1: tensor<3x3x4x8xf32>, %arg2: tensor<3x3x8x8xf32>, %arg3: tensor<8xf32>) -> tensor<2x8x6x6xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
    %1 = stablehlo.convolution(%0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x6x6x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<8xf32>) -> tensor<2x6x6x8xf32>
    %3 = stablehlo.add %1, %2 : tensor<2x6x6x8xf32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<2x6x6x8xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<2x6x6x8xf32>
    %6 = stablehlo.convolution(%5, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x6x6x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x6x6x8xf32>
    %7 = stablehlo.add %6, %5 : tensor<2x6x6x8xf32>
    %8 = stablehlo.transpose %7, dims = [0, 3, 1, 2] : (tensor<2x6x6x8xf32>) -> tensor<2x8x6x6xf32>
    return %8 : tensor<2x8x6x6xf32>
  }
}
// -----
// A chain that is read in both orders, or that nothing is gained by turning, stays.
func.func @stays(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %a = stablehlo.add %x, %t : tensor<4x6xf32>
  %u = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %e = stablehlo.exponential %x : tensor<4x6xf32>
  return %u, %a, %e : tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
// ----- expected
module {
  func.func @stays(%arg0: tensor<4x6xf32>, %arg1: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x6xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %3 = stablehlo.exponential %arg0 : tensor<4x6xf32>
    return %2, %1, %3 : tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}
// -----
// Predicates that are scalars, constants that are no splats, integers, values that a region reads.
// RUN: --passes=layout,simplify,fold,dce
func.func @parts(%x: tensor<2x3xi32>, %p: tensor<i1>, %n: tensor<i32>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {
  %c = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.iota dim = 0 : tensor<3x2xi32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %a = stablehlo.add %t, %c : tensor<3x2xi32>
  %b = stablehlo.multiply %a, %i : tensor<3x2xi32>
  %s = stablehlo.select %p, %a, %b : tensor<i1>, tensor<3x2xi32>
  %u = stablehlo.transpose %s, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
  %v = stablehlo.transpose %b, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
  %r = "stablehlo.case"(%n) ({
    stablehlo.return %u : tensor<2x3xi32>
  }, {
    %k = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
    stablehlo.return %k : tensor<2x3xi32>
  }) : (tensor<i32>) -> tensor<2x3xi32>
  return %r, %v : tensor<2x3xi32>, tensor<2x3xi32>
}
// ----- expected
module {
  func.func @parts(%arg0: tensor<2x3xi32>, %arg1: tensor<i1>, %arg2: tensor<i32>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<3x2xi32>
    %1 = stablehlo.constant dense<[[1, 3, 5], [2, 4, 6]]> : tensor<2x3xi32>
    %2 = stablehlo.add %arg0, %1 : tensor<2x3xi32>
    %3 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3xi32>
    %5 = stablehlo.select %arg1, %2, %4 : tensor<i1>, tensor<2x3xi32>
    %6 = "stablehlo.case"(%arg2) ({
      stablehlo.return %5 : tensor<2x3xi32>
    }, {
      stablehlo.return %2 : tensor<2x3xi32>
    }) : (tensor<i32>) -> tensor<2x3xi32>
    return %6, %4 : tensor<2x3xi32>, tensor<2x3xi32>
  }
}
