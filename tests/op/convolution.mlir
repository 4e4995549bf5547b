// Also: dynamic_conv

// A 2x2 kernel over a 3x3 image, channels last.
func.func @plain() {
  %x = stablehlo.constant dense<[[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]]> : tensor<1x3x3x1xi32>
  %k = stablehlo.constant dense<[[[[1]], [[0]]], [[[0]], [[1]]]]> : tensor<2x2x1x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xi32>, tensor<2x2x1x1xi32>) -> tensor<1x2x2x1xi32>
  check.expect_eq_const %0, dense<[[[[6], [8]], [[12], [14]]]]> : tensor<1x2x2x1xi32>
  return
}

// -----

// Stride, padding on one side, a dilated kernel, reversed; channels first.
func.func @window() {
  %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %k = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  check.expect_eq_const %0, dense<[[[20.0, 42.0]]]> : tensor<1x1x2xf32>
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  check.expect_eq_const %1, dense<[[[12.0, 23.0, 34.0, 45.0]]]> : tensor<1x1x4xf32>
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {lhs_dilate = [2], pad = [[-1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x8xf32>
  check.expect_eq_const %2, dense<[[[20.0, 2.0, 30.0, 3.0, 40.0, 4.0, 50.0, 5.0]]]> : tensor<1x1x8xf32>
  return
}

// -----

// Feature groups see their own input features, batch groups their own batches.
func.func @groups() {
  %x = stablehlo.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi64>
  %k = stablehlo.constant dense<[[[10, 100]]]> : tensor<1x1x2xi64>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x1x2xi64>, tensor<1x1x2xi64>) -> tensor<2x1x2xi64>
  check.expect_eq_const %0, dense<[[[10, 200]], [[30, 400]]]> : tensor<2x1x2xi64>
  %w = stablehlo.constant dense<[[[1, 10], [1, 10]]]> : tensor<1x2x2xi64>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x1x2xi64>, tensor<1x2x2xi64>) -> tensor<1x1x2xi64>
  check.expect_eq_const %1, dense<[[[3, 70]]]> : tensor<1x1x2xi64>
  return
}

// -----

// Padding that is known only when the program runs.
func.func @dynamic() {
  %x = stablehlo.constant dense<[[[1], [2], [3]]]> : tensor<1x3x1xi32>
  %k = stablehlo.constant dense<[[[1]], [[1]]]> : tensor<2x1x1xi32>
  %p = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x3x1xi32>, tensor<2x1x1xi32>, tensor<1x2xi32>) -> tensor<1x?x1xi32>
  %1 = tensor.cast %0 : tensor<1x?x1xi32> to tensor<1x4x1xi32>
  check.expect_eq_const %1, dense<[[[1], [3], [5], [3]]]> : tensor<1x4x1xi32>
  return
}
