module @jit_classify attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x1x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<3x3x16x32xf32>, %arg3: tensor<32xf32>, %arg4: tensor<512x10xf32>, %arg5: tensor<10xf32>, %arg6: tensor<355x8x8x1xf32>) -> (tensor<355x10xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg6, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<355x8x8x1xf32>, tensor<3x3x1x16xf32>) -> tensor<355x8x8x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<355x8x8x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<355x8x8x16xf32>
    %4 = call @relu(%3) : (tensor<355x8x8x16xf32>) -> tensor<355x8x8x16xf32>
    %5 = stablehlo.convolution(%4, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<355x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<355x8x8x32xf32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<32xf32>) -> tensor<1x1x1x32xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<1x1x1x32xf32>) -> tensor<355x8x8x32xf32>
    %8 = stablehlo.add %5, %7 : tensor<355x8x8x32xf32>
    %9 = call @relu_0(%8) : (tensor<355x8x8x32xf32>) -> tensor<355x8x8x32xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %11 = "stablehlo.reduce_window"(%9, %10) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %17 = stablehlo.maximum %arg7, %arg8 : tensor<f32>
      stablehlo.return %17 : tensor<f32>
    }) : (tensor<355x8x8x32xf32>, tensor<f32>) -> tensor<355x4x4x32xf32>
    %12 = stablehlo.reshape %11 : (tensor<355x4x4x32xf32>) -> tensor<355x512xf32>
    %13 = stablehlo.dot_general %12, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<355x512xf32>, tensor<512x10xf32>) -> tensor<355x10xf32>
    %14 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<355x10xf32>
    %16 = stablehlo.add %13, %15 : tensor<355x10xf32>
    return %16 : tensor<355x10xf32>
  }
  func.func private @relu(%arg0: tensor<355x8x8x16xf32>) -> tensor<355x8x8x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<355x8x8x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<355x8x8x16xf32>
    return %1 : tensor<355x8x8x16xf32>
  }
  func.func private @relu_0(%arg0: tensor<355x8x8x32xf32>) -> tensor<355x8x8x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<355x8x8x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<355x8x8x32xf32>
    return %1 : tensor<355x8x8x32xf32>
  }
}
