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
    %0 = stablehlo.constant dense<[[1, 3, 5], [2, 4, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x3xi32>
    %2 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x3xi32>
    %4 = stablehlo.select %arg1, %1, %3 : tensor<i1>, tensor<2x3xi32>
    %5 = "stablehlo.case"(%arg2) ({
      stablehlo.return %4 : tensor<2x3xi32>
    }, {
      stablehlo.return %1 : tensor<2x3xi32>
    }) : (tensor<i32>) -> tensor<2x3xi32>
    return %5, %3 : tensor<2x3xi32>, tensor<2x3xi32>
  }
}
// -----
// A residual block of NCHW convolutions with pooling: transposes of the argument and of the result only.
// RUN: --passes=layout,simplify,dce
func.func @block(%x: tensor<1x16x32x32xf32>, %u: tensor<32x16x3x3xf32>, %v: tensor<32x32x3x3xf32>, %b: tensor<32xf32>) -> tensor<1x32x16x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1x32x16x16xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<1x32x16x16xf32>
  %c = stablehlo.convolution(%x, %u) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x32x32xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x32x32xf32>
  %p = "stablehlo.reduce_window"(%c, %zero) <{padding = dense<[[0, 0], [0, 0], [0, 1], [1, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%e: tensor<f32>, %f: tensor<f32>):
    %g = stablehlo.maximum %e, %f : tensor<f32>
    stablehlo.return %g : tensor<f32>
  }) : (tensor<1x32x32x32xf32>, tensor<f32>) -> tensor<1x32x16x16xf32>
  %d = stablehlo.convolution(%p, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32>
  %h = stablehlo.add %d, %bias : tensor<1x32x16x16xf32>
  %s = stablehlo.add %h, %p : tensor<1x32x16x16xf32>
  %r = stablehlo.maximum %s, %zeros : tensor<1x32x16x16xf32>
  return %r : tensor<1x32x16x16xf32>
}
// ----- expected
module {
  func.func @block(%arg0: tensor<1x16x32x32xf32>, %arg1: tensor<32x16x3x3xf32>, %arg2: tensor<32x32x3x3xf32>, %arg3: tensor<32xf32>) -> tensor<1x32x16x16xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x16x32x32xf32>) -> tensor<1x32x32x16xf32>
    %2 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x32x32x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x32x32xf32>
    %3 = "stablehlo.reduce_window"(%2, %0) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [0, 1], [1, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %4 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<1x32x32x32xf32>, tensor<f32>) -> tensor<1x16x16x32xf32>
    %5 = stablehlo.convolution(%3, %arg2) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x16x16x32xf32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<32xf32>) -> tensor<1x16x16x32xf32>
    %7 = stablehlo.add %5, %6 : tensor<1x16x16x32xf32>
    %8 = stablehlo.add %7, %3 : tensor<1x16x16x32xf32>
    %9 = stablehlo.constant dense<0.000000e+00> : tensor<1x16x16x32xf32>
    %10 = stablehlo.maximum %8, %9 : tensor<1x16x16x32xf32>
    %11 = stablehlo.transpose %10, dims = [0, 3, 1, 2] : (tensor<1x16x16x32xf32>) -> tensor<1x32x16x16xf32>
    return %11 : tensor<1x32x16x16xf32>
  }
}
// -----
// Group norm: reshapes that divide the features, and reductions, follow.
// RUN: --passes=layout,simplify,dce
func.func @group_norm(%x: tensor<1x32x16x16xf32>, %u: tensor<32x32x3x3xf32>, %v: tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.convolution(%x, %u) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32>
  %g = stablehlo.reshape %c : (tensor<1x32x16x16xf32>) -> tensor<1x8x4x16x16xf32>
  %m = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [2, 3, 4] : (tensor<1x8x4x16x16xf32>, tensor<f32>) -> tensor<1x8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<1x8x4x16x16xf32>
  %n = stablehlo.subtract %g, %mb : tensor<1x8x4x16x16xf32>
  %r = stablehlo.reshape %n : (tensor<1x8x4x16x16xf32>) -> tensor<1x32x16x16xf32>
  %d = stablehlo.convolution(%r, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32>
  return %d : tensor<1x32x16x16xf32>
}
// ----- expected
module {
  func.func @group_norm(%arg0: tensor<1x32x16x16xf32>, %arg1: tensor<32x32x3x3xf32>, %arg2: tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x32x16x16xf32>) -> tensor<1x16x16x32xf32>
    %2 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x16x16x32xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x16x16x32xf32>) -> tensor<1x16x16x8x4xf32>
    %4 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<1x16x16x8x4xf32>, tensor<f32>) -> tensor<1x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 3] : (tensor<1x8xf32>) -> tensor<1x16x16x8x4xf32>
    %6 = stablehlo.subtract %3, %5 : tensor<1x16x16x8x4xf32>
    %7 = stablehlo.reshape %6 : (tensor<1x16x16x8x4xf32>) -> tensor<1x16x16x32xf32>
    %8 = stablehlo.convolution(%7, %arg2) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x16x16x32xf32>
    %9 = stablehlo.transpose %8, dims = [0, 3, 1, 2] : (tensor<1x16x16x32xf32>) -> tensor<1x32x16x16xf32>
    return %9 : tensor<1x32x16x16xf32>
  }
}
// -----
// What a loop carries, concatenations, slices, pads and reversals.
// RUN: --passes=layout,simplify,dce
func.func @loop(%x: tensor<1x16x16x16xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %f = stablehlo.constant dense<0.5> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<1x16x16x16xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %c = stablehlo.convolution(%h, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32>
    %s = stablehlo.slice %c [0:1, 0:12, 1:16, 0:16:2] : (tensor<1x16x16x16xf32>) -> tensor<1x12x15x8xf32>
    %t = stablehlo.slice %h [0:1, 12:16, 1:16, 0:16:2] : (tensor<1x16x16x16xf32>) -> tensor<1x4x15x8xf32>
    %k = stablehlo.concatenate %s, %t, dim = 1 : (tensor<1x12x15x8xf32>, tensor<1x4x15x8xf32>) -> tensor<1x16x15x8xf32>
    %p = stablehlo.pad %k, %f, low = [0, 0, 0, 1], high = [0, 0, 1, 0], interior = [0, 0, 0, 1] : (tensor<1x16x15x8xf32>, tensor<f32>) -> tensor<1x16x16x16xf32>
    %v = stablehlo.reverse %p, dims = [3] : tensor<1x16x16x16xf32>
    %d = stablehlo.dynamic_slice %v, %zero, %zero, %i, %zero, sizes = [1, 16, 1, 16] : (tensor<1x16x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x1x16xf32>
    %u = stablehlo.dynamic_update_slice %c, %d, %zero, %zero, %j, %zero : (tensor<1x16x16x16xf32>, tensor<1x16x1x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16x16xf32>
    stablehlo.return %j, %u : tensor<i32>, tensor<1x16x16x16xf32>
  }
  return %r#1 : tensor<1x16x16x16xf32>
}
// ----- expected
module {
  func.func @loop(%arg0: tensor<1x16x16x16xf32>, %arg1: tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<6> : tensor<i32>
    %3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    %5:2 = stablehlo.while(%arg2 = %0, %arg3 = %4) : tensor<i32>, tensor<1x16x16x16xf32>
    cond {
      %6 = stablehlo.compare LT, %arg2, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7 = stablehlo.add %arg2, %1 : tensor<i32>
      %8 = stablehlo.convolution(%arg3, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x16x16xf32>
      %9 = stablehlo.slice %8 [0:1, 1:16, 0:16:2, 0:12] : (tensor<1x16x16x16xf32>) -> tensor<1x15x8x12xf32>
      %10 = stablehlo.slice %arg3 [0:1, 1:16, 0:16:2, 12:16] : (tensor<1x16x16x16xf32>) -> tensor<1x15x8x4xf32>
      %11 = stablehlo.concatenate %9, %10, dim = 3 : (tensor<1x15x8x12xf32>, tensor<1x15x8x4xf32>) -> tensor<1x15x8x16xf32>
      %12 = stablehlo.pad %11, %3, low = [0, 0, 1, 0], high = [0, 1, 0, 0], interior = [0, 0, 1, 0] : (tensor<1x15x8x16xf32>, tensor<f32>) -> tensor<1x16x16x16xf32>
      %13 = stablehlo.reverse %12, dims = [2] : tensor<1x16x16x16xf32>
      %14 = stablehlo.dynamic_slice %13, %0, %arg2, %0, %0, sizes = [1, 1, 16, 16] : (tensor<1x16x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x16x16xf32>
      %15 = stablehlo.dynamic_update_slice %8, %14, %0, %7, %0, %0 : (tensor<1x16x16x16xf32>, tensor<1x1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16x16xf32>
      stablehlo.return %7, %15 : tensor<i32>, tensor<1x16x16x16xf32>
    }
    %16 = stablehlo.transpose %5#1, dims = [0, 3, 1, 2] : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    return %16 : tensor<1x16x16x16xf32>
  }
}
// -----
// The gradient of a kernel: images are summed up, so features of both operands come last, by whatever names.
// RUN: --passes=layout,simplify,dce
func.func @gradient(%x: tensor<8x16x16x16xf32>, %y: tensor<8x16x16x16xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32> {
  %a = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  %c = stablehlo.add %a, %y : tensor<8x16x16x16xf32>
  %g = stablehlo.convolution(%x, %c) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x16xf32>, tensor<8x16x16x16xf32>) -> tensor<16x16x3x3xf32>
  return %g : tensor<16x16x3x3xf32>
}
// ----- expected
module {
  func.func @gradient(%arg0: tensor<8x16x16x16xf32>, %arg1: tensor<8x16x16x16xf32>, %arg2: tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<8x16x16x16xf32>) -> tensor<8x16x16x16xf32>
    %1 = stablehlo.convolution(%0, %arg2) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
    %2 = stablehlo.transpose %arg1, dims = [0, 2, 3, 1] : (tensor<8x16x16x16xf32>) -> tensor<8x16x16x16xf32>
    %3 = stablehlo.add %1, %2 : tensor<8x16x16x16xf32>
    %4 = stablehlo.convolution(%0, %3) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x16x16x16xf32>, tensor<8x16x16x16xf32>) -> tensor<3x3x16x16xf32>
    %5 = stablehlo.transpose %4, dims = [3, 2, 0, 1] : (tensor<3x3x16x16xf32>) -> tensor<16x16x3x3xf32>
    return %5 : tensor<16x16x3x3xf32>
  }
}
// -----
// Of elements that are equal the first one is found, which another order of the dimensions may not change.
// RUN: --passes=layout,simplify,dce
func.func @first(%x: tensor<64x32x16xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<64x32x16xf32>) -> tensor<32x64x16xf32>
  %e = stablehlo.exponential %t : tensor<32x64x16xf32>
  %r = stablehlo.reduce(%e init: %zero) across dimensions = [0, 1] : (tensor<32x64x16xf32>, tensor<f32>) -> tensor<16xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %p = stablehlo.compare EQ, %a, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.select %p, %b, %a : tensor<i1>, tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %r : tensor<16xf32>
}
// ----- expected
module {
  func.func @first(%arg0: tensor<64x32x16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<64x32x16xf32>) -> tensor<32x64x16xf32>
    %2 = stablehlo.exponential %1 : tensor<32x64x16xf32>
    %3 = stablehlo.reduce(%2 init: %0) across dimensions = [0, 1] : (tensor<32x64x16xf32>, tensor<f32>) -> tensor<16xf32>
     reducer(%arg1: tensor<f32>, %arg2: tensor<f32>)  {
      %4 = stablehlo.compare EQ, %arg1, %0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %arg2, %arg1 : tensor<i1>, tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }
    return %3 : tensor<16xf32>
  }
}
// -----
// Group norm as PyTorch writes it, on merged dimensions, which are split: nothing between the convolutions is moved.
// RUN: --passes=canonicalize,layout,simplify,dce
func.func @merged(%x: tensor<1x32x16x16xf32>, %u: tensor<32x32x3x3xf32>, %v: tensor<32x32x3x3xf32>, %k: tensor<1024xf32>) -> (tensor<1x32x16x16xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<8x1024xf32>
  %c = stablehlo.convolution(%x, %u) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32>
  %g = stablehlo.reshape %c : (tensor<1x32x16x16xf32>) -> tensor<8x1024xf32>
  %m = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %m1 = stablehlo.reshape %m : (tensor<8xf32>) -> tensor<8x1xf32>
  %mb = stablehlo.broadcast_in_dim %m1, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x1024xf32>
  %n = stablehlo.subtract %g, %mb : tensor<8x1024xf32>
  %o = stablehlo.multiply %n, %two : tensor<8x1024xf32>
  %w = stablehlo.broadcast_in_dim %k, dims = [1] : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %p = stablehlo.add %o, %w : tensor<8x1024xf32>
  %y = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %q = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<8x1024xf32>) -> tensor<1x8x1024xf32>
  %r = stablehlo.reshape %q : (tensor<1x8x1024xf32>) -> tensor<1x32x16x16xf32>
  %d = stablehlo.convolution(%r, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x16x16xf32>
  return %d, %y : tensor<1x32x16x16xf32>, tensor<1024xf32>
}
// ----- expected
module {
  func.func @merged(%arg0: tensor<1x32x16x16xf32>, %arg1: tensor<32x32x3x3xf32>, %arg2: tensor<32x32x3x3xf32>, %arg3: tensor<1024xf32>) -> (tensor<1x32x16x16xf32>, tensor<1024xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x32x16x16xf32>) -> tensor<1x16x16x32xf32>
    %2 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x16x16x32xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x16x16x32xf32>) -> tensor<16x16x8x4xf32>
    %4 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [0, 1, 3] : (tensor<16x16x8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [2] : (tensor<8xf32>) -> tensor<16x16x8x4xf32>
    %6 = stablehlo.subtract %3, %5 : tensor<16x16x8x4xf32>
    %7 = stablehlo.constant dense<2.000000e+00> : tensor<16x16x8x4xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<16x16x8x4xf32>
    %9 = stablehlo.reshape %arg3 : (tensor<1024xf32>) -> tensor<4x16x16xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [3, 0, 1] : (tensor<4x16x16xf32>) -> tensor<16x16x8x4xf32>
    %11 = stablehlo.add %8, %10 : tensor<16x16x8x4xf32>
    %12 = stablehlo.transpose %11, dims = [2, 3, 0, 1] : (tensor<16x16x8x4xf32>) -> tensor<8x4x16x16xf32>
    %13 = stablehlo.reshape %12 : (tensor<8x4x16x16xf32>) -> tensor<8x1024xf32>
    %14 = stablehlo.reduce(%13 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %15 = stablehlo.reshape %11 : (tensor<16x16x8x4xf32>) -> tensor<1x16x16x32xf32>
    %16 = stablehlo.convolution(%15, %arg2) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x16x16x32xf32>
    %17 = stablehlo.transpose %16, dims = [0, 3, 1, 2] : (tensor<1x16x16x32xf32>) -> tensor<1x32x16x16xf32>
    return %17, %14 : tensor<1x32x16x16xf32>, tensor<1024xf32>
  }
}
// -----
// A type that says more of its dimensions keeps its layout.
// RUN: --passes=layout
func.func @encoding(%x: tensor<8x32x16x16xf32>, %u: tensor<32x32x3x3xf32>) -> tensor<8x32x256xf32, "dense"> {
  %c = stablehlo.convolution(%x, %u) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x16x16xf32>, tensor<32x32x3x3xf32>) -> tensor<8x32x16x16xf32>
  %r = stablehlo.reshape %c : (tensor<8x32x16x16xf32>) -> tensor<8x32x256xf32, "dense">
  return %r : tensor<8x32x256xf32, "dense">
}
// ----- expected
module {
  func.func @encoding(%arg0: tensor<8x32x16x16xf32>, %arg1: tensor<32x32x3x3xf32>) -> tensor<8x32x256xf32, "dense"> {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<8x32x16x16xf32>) -> tensor<8x16x16x32xf32>
    %1 = stablehlo.convolution(%0, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x16x16x32xf32>, tensor<32x32x3x3xf32>) -> tensor<8x16x16x32xf32>
    %2 = stablehlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<8x16x16x32xf32>) -> tensor<8x32x16x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<8x32x16x16xf32>) -> tensor<8x32x256xf32, "dense">
    return %3 : tensor<8x32x256xf32, "dense">
  }
}
// -----
// A convolution of few terms: storing its result element by element takes longer than a transpose.
// RUN: --passes=layout,simplify,fold,dce
func.func @few_terms(%x: tensor<2x16x96x96xf32>, %w: tensor<32x16x1x1xf32>) -> tensor<2x32x48x48xf32> {
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x96x96xf32>, tensor<32x16x1x1xf32>) -> tensor<2x32x48x48xf32>
  return %c : tensor<2x32x48x48xf32>
}
// ----- expected
module {
  func.func @few_terms(%arg0: tensor<2x16x96x96xf32>, %arg1: tensor<32x16x1x1xf32>) -> tensor<2x32x48x48xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f], window = {stride = [2, 2] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x16x96x96xf32>, tensor<32x16x1x1xf32>) -> tensor<2x48x48x32xf32>
    %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x48x48x32xf32>) -> tensor<2x32x48x48xf32>
    return %1 : tensor<2x32x48x48xf32>
  }
}
// -----
// 1x1 convolutions of planes that nothing else draws into another order are products.
func.func @planes(%x: tensor<1x16x12x12xf32>, %w: tensor<24x16x1x1xf32>, %b: tensor<24xf32>) -> tensor<1x24x12x12xf32> {
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<1x24x12x12xf32>
  %r = stablehlo.add %c, %bb : tensor<1x24x12x12xf32>
  return %r : tensor<1x24x12x12xf32>
}
// ----- expected
module {
  func.func @planes(%arg0: tensor<1x16x12x12xf32>, %arg1: tensor<24x16x1x1xf32>, %arg2: tensor<24xf32>) -> tensor<1x24x12x12xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<24x16x1x1xf32>) -> tensor<24x16xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<1x16x12x12xf32>) -> tensor<16x144xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<24x16xf32>, tensor<16x144xf32>) -> tensor<24x144xf32>
    %3 = stablehlo.reshape %2 : (tensor<24x144xf32>) -> tensor<1x24x12x12xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<24xf32>) -> tensor<1x24x12x12xf32>
    %5 = stablehlo.add %3, %4 : tensor<1x24x12x12xf32>
    return %5 : tensor<1x24x12x12xf32>
  }
}
// -----
// Of the planes, strides and negative padding leave some places.
func.func @strides(%x: tensor<1x16x21x24xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<1x24x10x12xf32> {
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[-1, -1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x21x24xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x10x12xf32>
  return %c : tensor<1x24x10x12xf32>
}
// ----- expected
module {
  func.func @strides(%arg0: tensor<1x16x21x24xf32>, %arg1: tensor<24x16x1x1xf32>) -> tensor<1x24x10x12xf32> {
    %0 = stablehlo.slice %arg0 [0:1, 0:16, 1:20:2, 0:23:2] : (tensor<1x16x21x24xf32>) -> tensor<1x16x10x12xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<24x16x1x1xf32>) -> tensor<24x16xf32>
    %2 = stablehlo.reshape %0 : (tensor<1x16x10x12xf32>) -> tensor<16x120xf32>
    %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x120xf32>) -> tensor<24x120xf32>
    %4 = stablehlo.reshape %3 : (tensor<24x120xf32>) -> tensor<1x24x10x12xf32>
    return %4 : tensor<1x24x10x12xf32>
  }
}
// -----
// Beside convolutions that are faster with features side by side, they are convolutions in that layout, too.
func.func @bottleneck(%x: tensor<1x16x56x56xf32>, %w: tensor<96x16x1x1xf32>, %v: tensor<96x1x3x3xf32>, %u: tensor<24x96x1x1xf32>) -> tensor<1x24x56x56xf32> {
  %a = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x56x56xf32>, tensor<96x16x1x1xf32>) -> tensor<1x96x56x56xf32>
  %b = stablehlo.convolution(%a, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 96 : i64} : (tensor<1x96x56x56xf32>, tensor<96x1x3x3xf32>) -> tensor<1x96x56x56xf32>
  %c = stablehlo.convolution(%b, %u) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x96x56x56xf32>, tensor<24x96x1x1xf32>) -> tensor<1x24x56x56xf32>
  return %c : tensor<1x24x56x56xf32>
}
// ----- expected
module {
  func.func @bottleneck(%arg0: tensor<1x16x56x56xf32>, %arg1: tensor<96x16x1x1xf32>, %arg2: tensor<96x1x3x3xf32>, %arg3: tensor<24x96x1x1xf32>) -> tensor<1x24x56x56xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<1x16x56x56xf32>) -> tensor<1x56x56x16xf32>
    %1 = stablehlo.convolution(%0, %arg1) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = { } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x56x56x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x56x56x96xf32>
    %2 = stablehlo.transpose %arg2, dims = [2, 3, 1, 0] : (tensor<96x1x3x3xf32>) -> tensor<3x3x1x96xf32>
    %3 = stablehlo.convolution(%1, %2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]] } {feature_group_count = 96 : i64, batch_group_count = 1 : i64} : (tensor<1x56x56x96xf32>, tensor<3x3x1x96xf32>) -> tensor<1x56x56x96xf32>
    %4 = stablehlo.convolution(%3, %arg3) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f], window = { } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x56x56x96xf32>, tensor<24x96x1x1xf32>) -> tensor<1x56x56x24xf32>
    %5 = stablehlo.transpose %4, dims = [0, 3, 1, 2] : (tensor<1x56x56x24xf32>) -> tensor<1x24x56x56xf32>
    return %5 : tensor<1x24x56x56xf32>
  }
}
// -----
// A window that padding shifts, or a stride that padding makes up for, multiplies other places than those of the result.
func.func @shifted(%x: tensor<1x16x12x12xf32>, %w: tensor<24x16x1x1xf32>) -> (tensor<1x24x12x12xf32>, tensor<1x24x12x12xf32>) {
  %a = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, -1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  %b = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[0, 11], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  return %a, %b : tensor<1x24x12x12xf32>, tensor<1x24x12x12xf32>
}
// ----- expected
module {
  func.func @shifted(%arg0: tensor<1x16x12x12xf32>, %arg1: tensor<24x16x1x1xf32>) -> (tensor<1x24x12x12xf32>, tensor<1x24x12x12xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f], window = {pad = [[1, -1], [0, 0]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x12x12x24xf32>
    %1 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 11], [0, 0]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x12x12x24xf32>
    %2 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<1x12x12x24xf32>) -> tensor<1x24x12x12xf32>
    %3 = stablehlo.transpose %1, dims = [0, 3, 1, 2] : (tensor<1x12x12x24xf32>) -> tensor<1x24x12x12xf32>
    return %2, %3 : tensor<1x24x12x12xf32>, tensor<1x24x12x12xf32>
  }
}
