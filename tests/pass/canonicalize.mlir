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
