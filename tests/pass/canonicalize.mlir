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
// -----
// Products of transposes; where free dimensions would change their order, the transpose stays.
func.func @f(%x: tensor<5x4x3xf32>, %y: tensor<7x5x3xf32>, %z: tensor<3x7xf32>) -> (tensor<5x4x7xf32>, tensor<4x5x7xf32>, tensor<4x5x7xf32>) {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<5x4x3xf32>) -> tensor<3x5x4xf32>
  %1 = stablehlo.transpose %y, dims = [1, 2, 0] : (tensor<7x5x3xf32>) -> tensor<5x3x7xf32>
  %2 = stablehlo.dot_general %0, %1, batching_dims = [1] x [0], contracting_dims = [0] x [1] : (tensor<3x5x4xf32>, tensor<5x3x7xf32>) -> tensor<5x4x7xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<5x4x3xf32>) -> tensor<4x5x3xf32>
  %4 = stablehlo.dot_general %3, %z, contracting_dims = [2] x [0] : (tensor<4x5x3xf32>, tensor<3x7xf32>) -> tensor<4x5x7xf32>
  %5 = stablehlo.transpose %z, dims = [1, 0] : (tensor<3x7xf32>) -> tensor<7x3xf32>
  %6 = stablehlo.dot_general %3, %5, contracting_dims = [2] x [1] : (tensor<4x5x3xf32>, tensor<7x3xf32>) -> tensor<4x5x7xf32>
  return %2, %4, %6 : tensor<5x4x7xf32>, tensor<4x5x7xf32>, tensor<4x5x7xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<5x4x3xf32>, %arg1: tensor<7x5x3xf32>, %arg2: tensor<3x7xf32>) -> (tensor<5x4x7xf32>, tensor<4x5x7xf32>, tensor<4x5x7xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<5x4x3xf32>) -> tensor<3x5x4xf32>
    %1 = stablehlo.transpose %arg1, dims = [1, 2, 0] : (tensor<7x5x3xf32>) -> tensor<5x3x7xf32>
    %2 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [1], contracting_dims = [2] x [2] : (tensor<5x4x3xf32>, tensor<7x5x3xf32>) -> tensor<5x4x7xf32>
    %3 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<5x4x3xf32>) -> tensor<4x5x3xf32>
    %4 = stablehlo.dot_general %3, %arg2, contracting_dims = [2] x [0] : (tensor<4x5x3xf32>, tensor<3x7xf32>) -> tensor<4x5x7xf32>
    %5 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<3x7xf32>) -> tensor<7x3xf32>
    %6 = stablehlo.dot_general %3, %arg2, contracting_dims = [2] x [0] : (tensor<4x5x3xf32>, tensor<3x7xf32>) -> tensor<4x5x7xf32>
    return %2, %4, %6 : tensor<5x4x7xf32>, tensor<4x5x7xf32>, tensor<4x5x7xf32>
  }
}
// -----
// Outer products, and vectors by vectors: no matrix products. Floats narrower than f32 are computed in it.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, -2.0]]> : tensor<1x2xf32>
  %y = stablehlo.constant dense<[[3.0, -0.0, 5.0]]> : tensor<1x3xf32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %a = stablehlo.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xbf16>
  %b = stablehlo.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xbf16>
  %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x1x2xbf16>, tensor<2x2xbf16>) -> tensor<2x1xbf16>
  %c = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<i32>
  %3 = stablehlo.dot_general %c, %b, contracting_dims = [] x [] : (tensor<3xi8>, tensor<2x2xbf16>) -> tensor<3x2x2xf32>
  check.expect_eq_const %0, dense<[[3.0, 0.0, 5.0], [-6.0, 0.0, -10.0]]> : tensor<2x3xf32>
  check.expect_eq_const %1, dense<[[19.0], [50.0]]> : tensor<2x1xbf16>
  check.expect_eq_const %2, dense<30000> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1.000000e+00, -2.000000e+00]]> : tensor<1x2xf32>
    %1 = stablehlo.constant dense<[[3.000000e+00, -0.000000e+00, 5.000000e+00]]> : tensor<1x3xf32>
    %2 = stablehlo.reshape %0 : (tensor<1x2xf32>) -> tensor<2xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.reshape %1 : (tensor<1x3xf32>) -> tensor<3xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %6 = stablehlo.multiply %3, %5 : tensor<2x3xf32>
    %7 = stablehlo.constant dense<0.000000e+00> : tensor<2x3xf32>
    %8 = stablehlo.add %6, %7 : tensor<2x3xf32>
    %9 = stablehlo.constant dense<[[[1.000000e+00, 2.000000e+00]], [[3.000000e+00, 4.000000e+00]]]> : tensor<2x1x2xbf16>
    %10 = stablehlo.constant dense<[[5.000000e+00, 6.000000e+00], [7.000000e+00, 8.000000e+00]]> : tensor<2x2xbf16>
    %11 = stablehlo.reshape %9 : (tensor<2x1x2xbf16>) -> tensor<2x2x1xbf16>
    %12 = stablehlo.reshape %11 : (tensor<2x2x1xbf16>) -> tensor<2x2xbf16>
    %13 = stablehlo.convert %12 : (tensor<2x2xbf16>) -> tensor<2x2xf32>
    %14 = stablehlo.transpose %10, dims = [1, 0] : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
    %15 = stablehlo.convert %14 : (tensor<2x2xbf16>) -> tensor<2x2xf32>
    %16 = stablehlo.multiply %13, %15 : tensor<2x2xf32>
    %17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%16 init: %17) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %19 = stablehlo.convert %18 : (tensor<2xf32>) -> tensor<2xbf16>
    %20 = stablehlo.reshape %19 : (tensor<2xbf16>) -> tensor<2x1xbf16>
    %21 = stablehlo.constant dense<100> : tensor<3xi8>
    %22 = stablehlo.convert %21 : (tensor<3xi8>) -> tensor<3xi32>
    %23 = stablehlo.convert %21 : (tensor<3xi8>) -> tensor<3xi32>
    %24 = stablehlo.multiply %22, %23 : tensor<3xi32>
    %25 = stablehlo.constant dense<0> : tensor<i32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %27 = stablehlo.dot_general %21, %10, contracting_dims = [] x [] : (tensor<3xi8>, tensor<2x2xbf16>) -> tensor<3x2x2xf32>
    check.expect_eq_const %8, dense<[[3.000000e+00, 0.000000e+00, 5.000000e+00], [-6.000000e+00, 0.000000e+00, -1.000000e+01]]> : tensor<2x3xf32>
    check.expect_eq_const %20, dense<[[1.900000e+01], [5.000000e+01]]> : tensor<2x1xbf16>
    check.expect_eq_const %26, dense<30000> : tensor<i32>
    return
  }
}
// -----
// RUN: --passes=canonicalize --floats=no-nan
func.func @f(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  %i = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %j = stablehlo.constant dense<[[0.0, 1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %0 = stablehlo.dot_general %x, %i, contracting_dims = [1] x [0] : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %1 = stablehlo.dot_general %x, %j, contracting_dims = [1] x [0] : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  return %0, %1 : tensor<5x2xf32>, tensor<5x2xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
    %0 = stablehlo.constant dense<[[1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<[[0.000000e+00, 1.000000e+00], [1.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
    %2 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0] : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    return %arg0, %2 : tensor<5x2xf32>, tensor<5x2xf32>
  }
}
// -----
// Operands of a product change places with its free dimensions; not where it is needed as it is, nor for rows that would be short.
func.func @f(%a: tensor<8x32xf32>, %b: tensor<8x24xf32>, %c: tensor<2x8x16xf32>, %d: tensor<2x4x8xf32>, %e: tensor<8x4xf32>) -> (tensor<24x32xf32>, tensor<2x4x16xf32>, tensor<32x24xf32>, tensor<24x32xf32>, tensor<24x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : (tensor<8x32xf32>, tensor<8x24xf32>) -> tensor<32x24xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<32x24xf32>) -> tensor<24x32xf32>
  %2 = stablehlo.dot_general %c, %d, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x16x4xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<2x16x4xf32>) -> tensor<2x4x16xf32>
  %4 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x24xf32>) -> tensor<32x24xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<32x24xf32>) -> tensor<24x32xf32>
  %6 = stablehlo.dot_general %e, %b, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<4x24xf32>) -> tensor<24x4xf32>
  return %1, %3, %4, %5, %7 : tensor<24x32xf32>, tensor<2x4x16xf32>, tensor<32x24xf32>, tensor<24x32xf32>, tensor<24x4xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<8x32xf32>, %arg1: tensor<8x24xf32>, %arg2: tensor<2x8x16xf32>, %arg3: tensor<2x4x8xf32>, %arg4: tensor<8x4xf32>) -> (tensor<24x32xf32>, tensor<2x4x16xf32>, tensor<32x24xf32>, tensor<24x32xf32>, tensor<24x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : (tensor<8x32xf32>, tensor<8x24xf32>) -> tensor<32x24xf32>
    %1 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, HIGH] : (tensor<8x24xf32>, tensor<8x32xf32>) -> tensor<24x32xf32>
    %2 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x16x4xf32>
    %3 = stablehlo.dot_general %arg3, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
    %4 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x24xf32>) -> tensor<32x24xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<32x24xf32>) -> tensor<24x32xf32>
    %6 = stablehlo.dot_general %arg4, %arg1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<4x24xf32>) -> tensor<24x4xf32>
    return %1, %3, %4, %5, %7 : tensor<24x32xf32>, tensor<2x4x16xf32>, tensor<32x24xf32>, tensor<24x32xf32>, tensor<24x4xf32>
  }
}
// -----
// The input of a transposed convolution is dilated: its outputs at even and at odd places are convolutions of their own.
func.func @phases(%x: tensor<1x16x16x32xf32>, %w: tensor<3x3x32x16xf32>) -> tensor<1x32x32x16xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 2], [2, 1]], lhs_dilate = [2, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<3x3x32x16xf32>) -> tensor<1x32x32x16xf32>
  return %y : tensor<1x32x32x16xf32>
}
// ----- expected
module {
  func.func @phases(%arg0: tensor<1x16x16x32xf32>, %arg1: tensor<3x3x32x16xf32>) -> tensor<1x32x32x16xf32> {
    %0 = stablehlo.slice %arg1 [1:2, 0:3:2, 0:32, 0:16] : (tensor<3x3x32x16xf32>) -> tensor<1x2x32x16xf32>
    %1 = stablehlo.convolution(%arg0, %0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x2x32x16xf32>) -> tensor<1x16x16x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x16x16x16xf32>) -> tensor<1x16x1x16x1x16xf32>
    %3 = stablehlo.slice %arg1 [1:2, 1:2, 0:32, 0:16] : (tensor<3x3x32x16xf32>) -> tensor<1x1x32x16xf32>
    %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x16x16x16xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x16x16x16xf32>) -> tensor<1x16x1x16x1x16xf32>
    %6 = stablehlo.concatenate %2, %5, dim = 4 : (tensor<1x16x1x16x1x16xf32>, tensor<1x16x1x16x1x16xf32>) -> tensor<1x16x1x16x2x16xf32>
    %7 = stablehlo.slice %arg1 [0:3:2, 0:3:2, 0:32, 0:16] : (tensor<3x3x32x16xf32>) -> tensor<2x2x32x16xf32>
    %8 = stablehlo.convolution(%arg0, %7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<2x2x32x16xf32>) -> tensor<1x16x16x16xf32>
    %9 = stablehlo.reshape %8 : (tensor<1x16x16x16xf32>) -> tensor<1x16x1x16x1x16xf32>
    %10 = stablehlo.slice %arg1 [0:3:2, 1:2, 0:32, 0:16] : (tensor<3x3x32x16xf32>) -> tensor<2x1x32x16xf32>
    %11 = stablehlo.convolution(%arg0, %10) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<2x1x32x16xf32>) -> tensor<1x16x16x16xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x16x16x16xf32>) -> tensor<1x16x1x16x1x16xf32>
    %13 = stablehlo.concatenate %9, %12, dim = 4 : (tensor<1x16x1x16x1x16xf32>, tensor<1x16x1x16x1x16xf32>) -> tensor<1x16x1x16x2x16xf32>
    %14 = stablehlo.concatenate %6, %13, dim = 2 : (tensor<1x16x1x16x2x16xf32>, tensor<1x16x1x16x2x16xf32>) -> tensor<1x16x2x16x2x16xf32>
    %15 = stablehlo.reshape %14 : (tensor<1x16x2x16x2x16xf32>) -> tensor<1x32x32x16xf32>
    return %15 : tensor<1x32x32x16xf32>
  }
}
// -----
// Where all phases have one place of the window they are features of one convolution.
func.func @features(%x: tensor<1x32x16x16xf32>, %w: tensor<16x32x2x2xf32>) -> tensor<1x16x32x32xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<16x32x2x2xf32>) -> tensor<1x16x32x32xf32>
  return %y : tensor<1x16x32x32xf32>
}
// ----- expected
module {
  func.func @features(%arg0: tensor<1x32x16x16xf32>, %arg1: tensor<16x32x2x2xf32>) -> tensor<1x16x32x32xf32> {
    %0 = stablehlo.slice %arg1 [0:16, 0:32, 1:2, 1:2] : (tensor<16x32x2x2xf32>) -> tensor<16x32x1x1xf32>
    %1 = stablehlo.slice %arg1 [0:16, 0:32, 1:2, 0:1] : (tensor<16x32x2x2xf32>) -> tensor<16x32x1x1xf32>
    %2 = stablehlo.slice %arg1 [0:16, 0:32, 0:1, 1:2] : (tensor<16x32x2x2xf32>) -> tensor<16x32x1x1xf32>
    %3 = stablehlo.slice %arg1 [0:16, 0:32, 0:1, 0:1] : (tensor<16x32x2x2xf32>) -> tensor<16x32x1x1xf32>
    %4 = stablehlo.concatenate %0, %1, %2, %3, dim = 0 : (tensor<16x32x1x1xf32>, tensor<16x32x1x1xf32>, tensor<16x32x1x1xf32>, tensor<16x32x1x1xf32>) -> tensor<64x32x1x1xf32>
    %5 = stablehlo.convolution(%arg0, %4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x32x16x16xf32>, tensor<64x32x1x1xf32>) -> tensor<1x64x16x16xf32>
    %6 = stablehlo.reshape %5 : (tensor<1x64x16x16xf32>) -> tensor<1x2x2x16x16x16xf32>
    %7 = stablehlo.transpose %6, dims = [0, 3, 4, 1, 5, 2] : (tensor<1x2x2x16x16x16xf32>) -> tensor<1x16x16x2x16x2xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x16x16x2x16x2xf32>) -> tensor<1x16x32x32xf32>
    return %8 : tensor<1x16x32x32xf32>
  }
}
// -----
// The gradient of a 1x1 convolution of stride 2 with three outputs more: most outputs are zero.
func.func @zeros(%x: tensor<1x16x16x32xf32>, %w: tensor<1x1x32x16xf32>) -> tensor<1x34x34x16xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 3], [0, 3]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x34x34x16xf32>
  return %y : tensor<1x34x34x16xf32>
}
// ----- expected
module {
  func.func @zeros(%arg0: tensor<1x16x16x32xf32>, %arg1: tensor<1x1x32x16xf32>) -> tensor<1x34x34x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x16x16x32xf32>, tensor<1x1x32x16xf32>) -> tensor<1x17x17x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x17x17x16xf32>) -> tensor<1x17x1x17x1x16xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<1x17x1x17x1x16xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 4 : (tensor<1x17x1x17x1x16xf32>, tensor<1x17x1x17x1x16xf32>) -> tensor<1x17x1x17x2x16xf32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<1x17x1x17x1x16xf32>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<1x17x1x17x1x16xf32>
    %6 = stablehlo.concatenate %4, %5, dim = 4 : (tensor<1x17x1x17x1x16xf32>, tensor<1x17x1x17x1x16xf32>) -> tensor<1x17x1x17x2x16xf32>
    %7 = stablehlo.concatenate %3, %6, dim = 2 : (tensor<1x17x1x17x2x16xf32>, tensor<1x17x1x17x2x16xf32>) -> tensor<1x17x2x17x2x16xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x17x2x17x2x16xf32>) -> tensor<1x34x34x16xf32>
    return %8 : tensor<1x34x34x16xf32>
  }
}
// -----
// Padding with zeros is a part of the convolution; small convolutions are not divided.
func.func @pad(%x: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x2xf32>) -> (tensor<1x7x5x2xf32>, tensor<1x3x2x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %p = stablehlo.pad %x, %zero, low = [0, 1, 2, 0], high = [0, 1, 0, 0], interior = [0, 1, 0, 0] : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x9x6x2xf32>
  %y = stablehlo.convolution(%p, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x6x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x7x5x2xf32>
  %q = stablehlo.pad %x, %one, low = [0, 1, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x5x4x2xf32>
  %z = stablehlo.convolution(%q, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  return %y, %z : tensor<1x7x5x2xf32>, tensor<1x3x2x2xf32>
}
// ----- expected
module {
  func.func @pad(%arg0: tensor<1x4x4x2xf32>, %arg1: tensor<3x3x2x2xf32>) -> (tensor<1x7x5x2xf32>, tensor<1x3x2x2xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %0, low = [0, 1, 2, 0], high = [0, 1, 0, 0], interior = [0, 1, 0, 0] : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x9x6x2xf32>
    %3 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [3, 0]], lhs_dilate = [2, 1] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x7x5x2xf32>
    %4 = stablehlo.pad %arg0, %1, low = [0, 1, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x5x4x2xf32>
    %5 = stablehlo.convolution(%4, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = { } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x5x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x3x2x2xf32>
    return %3, %5 : tensor<1x7x5x2xf32>, tensor<1x3x2x2xf32>
  }
}
// -----
// What follows a product but for a reshape has the dimensions of the product, as far as its other operands can have them.
func.func @f(%a: tensor<6x4xf32>, %b: tensor<4x5xf32>, %c: tensor<1x5xf32>, %d: tensor<2x1xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi1>, tensor<2x3x5xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<2x3x5xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %1 = stablehlo.reshape %0 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  %2 = stablehlo.broadcast_in_dim %c, dims = [0, 2] : (tensor<1x5xf32>) -> tensor<2x3x5xf32>
  %3 = stablehlo.add %1, %2 : tensor<2x3x5xf32>
  %4 = stablehlo.divide %two, %3 : tensor<2x3x5xf32>
  %5 = stablehlo.compare LT, %4, %1 : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xi1>
  %6 = stablehlo.broadcast_in_dim %d, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3x5xf32>
  %7 = stablehlo.multiply %1, %6 : tensor<2x3x5xf32>
  return %4, %5, %7 : tensor<2x3x5xf32>, tensor<2x3x5xi1>, tensor<2x3x5xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<6x4xf32>, %arg1: tensor<4x5xf32>, %arg2: tensor<1x5xf32>, %arg3: tensor<2x1xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi1>, tensor<2x3x5xf32>) {
    %0 = stablehlo.constant dense<2.000000e+00> : tensor<2x3x5xf32>
    %1 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %2 = stablehlo.reshape %1 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<1x5xf32>) -> tensor<2x3x5xf32>
    %4 = stablehlo.reshape %arg2 : (tensor<1x5xf32>) -> tensor<5xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<5xf32>) -> tensor<6x5xf32>
    %6 = stablehlo.add %1, %5 : tensor<6x5xf32>
    %7 = stablehlo.reshape %6 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
    %8 = stablehlo.constant dense<2.000000e+00> : tensor<6x5xf32>
    %9 = stablehlo.divide %8, %6 : tensor<6x5xf32>
    %10 = stablehlo.reshape %9 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
    %11 = stablehlo.compare LT, %9, %1 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xi1>
    %12 = stablehlo.reshape %11 : (tensor<6x5xi1>) -> tensor<2x3x5xi1>
    %13 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3x5xf32>
    %14 = stablehlo.multiply %2, %13 : tensor<2x3x5xf32>
    return %10, %12, %14 : tensor<2x3x5xf32>, tensor<2x3x5xi1>, tensor<2x3x5xf32>
  }
}
// -----
// What windows begin with, around what they reduce, is padding of theirs; what is cut off before zeros are added is not.
func.func @pads(%x: tensor<6xf32>, %y: tensor<1x6x1xf32>, %k: tensor<2x1x1xf32>) -> (tensor<8xf32>, tensor<1x5x1xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %init = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<f32>
  %p = stablehlo.pad %x, %one, low = [2], high = [-1], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<7xf32>
  %0 = "stablehlo.reduce_window"(%p, %init) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 3>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<7xf32>, tensor<f32>) -> tensor<8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %q = stablehlo.pad %y, %zero, low = [0, -1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x6x1xf32>, tensor<f32>) -> tensor<1x5x1xf32>
  %1 = stablehlo.convolution(%q, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<2x1x1xf32>) -> tensor<1x5x1xf32>
  return %0, %1 : tensor<8xf32>, tensor<1x5x1xf32>
}
// ----- expected
module {
  func.func @pads(%arg0: tensor<6xf32>, %arg1: tensor<1x6x1xf32>, %arg2: tensor<2x1x1xf32>) -> (tensor<8xf32>, tensor<1x5x1xf32>) {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reshape %0 : (tensor<f32>) -> tensor<f32>
    %2 = stablehlo.pad %arg0, %0, low = [2], high = [-1], interior = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<7xf32>
    %3 = "stablehlo.reduce_window"(%arg0, %1) <{window_dimensions = array<i64: 3>, padding = dense<[[5, -1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %4 = stablehlo.multiply %arg3, %arg4 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<6xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.pad %arg1, %5, low = [0, -1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x6x1xf32>, tensor<f32>) -> tensor<1x5x1xf32>
    %7 = stablehlo.convolution(%6, %arg2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<2x1x1xf32>) -> tensor<1x5x1xf32>
    return %3, %7 : tensor<8xf32>, tensor<1x5x1xf32>
  }
}
