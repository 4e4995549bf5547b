// Grouped heads share a batch dimension; the mask is spread to all heads first.
func.func @f(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %m: tensor<3x5xi1>) -> tensor<1x4x3x6xf32> {
  %r = stablehlo.custom_call @fused_scaled_dot_product_attention(%q, %k, %v, %m) {backend_config = "{\22scale\22: 0.5}"}
    : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<3x5xi1>) -> tensor<1x4x3x6xf32>
  return %r : tensor<1x4x3x6xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1x4x3x8xf32>, %arg1: tensor<1x2x5x8xf32>, %arg2: tensor<1x2x5x6xf32>, %arg3: tensor<3x5xi1>) -> tensor<1x4x3x6xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<1x4x3x8xf32>) -> tensor<1x2x2x3x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [3] : (tensor<1x2x2x3x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x2x3x5xf32>
    %2 = stablehlo.constant dense<5.000000e-01> : tensor<1x2x2x3x5xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<1x2x2x3x5xf32>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [2, 3] : (tensor<3x5xi1>) -> tensor<1x4x3x5xi1>
    %5 = stablehlo.reshape %4 : (tensor<1x4x3x5xi1>) -> tensor<1x2x2x3x5xi1>
    %6 = stablehlo.constant dense<-3.40282347E+38> : tensor<1x2x2x3x5xf32>
    %7 = stablehlo.select %5, %3, %6 : tensor<1x2x2x3x5xi1>, tensor<1x2x2x3x5xf32>
    %8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x2x3x5xf32>, tensor<f32>) -> tensor<1x2x2x3xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3x5xf32>
    %11 = stablehlo.subtract %7, %10 : tensor<1x2x2x3x5xf32>
    %12 = stablehlo.exponential %11 : tensor<1x2x2x3x5xf32>
    %13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [4] : (tensor<1x2x2x3x5xf32>, tensor<f32>) -> tensor<1x2x2x3xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3x5xf32>
    %16 = stablehlo.divide %12, %15 : tensor<1x2x2x3x5xf32>
    %17 = stablehlo.dot_general %16, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [2] : (tensor<1x2x2x3x5xf32>, tensor<1x2x5x6xf32>) -> tensor<1x2x2x3x6xf32>
    %18 = stablehlo.reshape %17 : (tensor<1x2x2x3x6xf32>) -> tensor<1x4x3x6xf32>
    return %18 : tensor<1x4x3x6xf32>
  }
}
// -----
// Narrow floats are computed in f32; other calls, and what is in a region, too.
func.func @f(%x: tensor<4xbf16>, %p: tensor<i1>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %0 = stablehlo.custom_call @fused_relu(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.custom_call @fused_gelu(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
    stablehlo.return %2 : tensor<4xbf16>
  }, {
    stablehlo.return %x : tensor<4xbf16>
  }) : (tensor<i1>) -> tensor<4xbf16>
  return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<i1>) -> (tensor<4xbf16>, tensor<4xbf16>) {
    %0 = stablehlo.custom_call @fused_relu(%arg0) : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = "stablehlo.if"(%arg1) ({
      %2 = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
      %3 = stablehlo.constant dense<0.707106769> : tensor<4xf32>
      %4 = stablehlo.multiply %2, %3 : tensor<4xf32>
      %5 = chlo.erf %4 : tensor<4xf32> -> tensor<4xf32>
      %6 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
      %7 = stablehlo.add %5, %6 : tensor<4xf32>
      %8 = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
      %9 = stablehlo.multiply %2, %8 : tensor<4xf32>
      %10 = stablehlo.multiply %9, %7 : tensor<4xf32>
      %11 = stablehlo.convert %10 : (tensor<4xf32>) -> tensor<4xbf16>
      stablehlo.return %11 : tensor<4xbf16>
    }, {
      stablehlo.return %arg0 : tensor<4xbf16>
    }) : (tensor<i1>) -> tensor<4xbf16>
    return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
  }
}
