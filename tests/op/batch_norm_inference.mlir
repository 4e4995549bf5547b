// batch_norm_inference: scale * (x - mean) / sqrt(variance + epsilon) + offset, for each feature.

func.func @features_last() {
  %x = stablehlo.constant dense<[[1.0, 10.0], [3.0, 30.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %mean = stablehlo.constant dense<[2.0, 10.0]> : tensor<2xf32>
  %variance = stablehlo.constant dense<[3.0, 15.0]> : tensor<2xf32>
  %r = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {epsilon = 1.0 : f32, feature_index = 1 : i64}
    : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %r, dense<[[-0.5, -1.0], [1.5, 4.0]]> : tensor<2x2xf32>
  func.return
}

func.func @features_in_the_middle() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<[1.0, 10.0]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %mean = stablehlo.constant dense<[1.0, 3.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf64>
  %r = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  check.expect_eq_const %r, dense<[[[0.0, 1.0], [1.0, 6.0]], [[4.0, 5.0], [21.0, 26.0]]]> : tensor<2x2x2xf64>
  func.return
}

// Every step rounds to the element type: the product is 1.03143…, in bf16 1.03125.
func.func @rounds_each_step() {
  %x = stablehlo.constant dense<[1.0078125]> : tensor<1xbf16>
  %scale = stablehlo.constant dense<[1.0234375]> : tensor<1xbf16>
  %one = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %minus_one = stablehlo.constant dense<[-1.0]> : tensor<1xbf16>
  %zero = stablehlo.constant dense<[0.0]> : tensor<1xbf16>
  %r = "stablehlo.batch_norm_inference"(%x, %scale, %minus_one, %zero, %one) {epsilon = 0.0 : f32, feature_index = 0 : i64}
    : (tensor<1xbf16>, tensor<1xbf16>, tensor<1xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
  check.expect_eq_const %r, dense<[0.03125]> : tensor<1xbf16>
  func.return
}

func.func @no_deviation() {
  %x = stablehlo.constant dense<[[2.0], [3.0]]> : tensor<2x1xf16>
  %one = stablehlo.constant dense<[1.0]> : tensor<1xf16>
  %two = stablehlo.constant dense<[2.0]> : tensor<1xf16>
  %zero = stablehlo.constant dense<[0.0]> : tensor<1xf16>
  %r = "stablehlo.batch_norm_inference"(%x, %one, %zero, %two, %zero) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<2x1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<2x1xf16>
  %infinite = stablehlo.slice %r [1:2, 0:1] : (tensor<2x1xf16>) -> tensor<1x1xf16>
  check.expect_eq_const %infinite, dense<0x7C00> : tensor<1x1xf16>
  %nan = stablehlo.slice %r [0:1, 0:1] : (tensor<2x1xf16>) -> tensor<1x1xf16>
  %is_nan = stablehlo.compare NE, %nan, %nan : (tensor<1x1xf16>, tensor<1x1xf16>) -> tensor<1x1xi1>
  check.expect_eq_const %is_nan, dense<true> : tensor<1x1xi1>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %r = "stablehlo.batch_norm_inference"(%x, %one, %one, %one, %one) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<0x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<0x2xf32>
  check.expect_eq_const %r, dense<> : tensor<0x2xf32>
  %no_features = stablehlo.constant dense<> : tensor<3x0xf32>
  %none = stablehlo.constant dense<> : tensor<0xf32>
  %s = "stablehlo.batch_norm_inference"(%no_features, %none, %none, %none, %none) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<3x0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<0xf32>, tensor<0xf32>) -> tensor<3x0xf32>
  check.expect_eq_const %s, dense<> : tensor<3x0xf32>
  func.return
}

// The numbers that the stored integers stand for, stored again: 2 * ((6 - 2) / 2) + 1 = 5.
func.func @quantized() {
  %x = stablehlo.constant dense<[[6.0], [2.0]]> : tensor<2x1xf32>
  %c = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %four = stablehlo.constant dense<[4.0]> : tensor<1xf32>
  %one = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %xq = stablehlo.uniform_quantize %x : (tensor<2x1xf32>) -> tensor<2x1x!quant.uniform<i8:f32, 0.5:3>>
  %cq = stablehlo.uniform_quantize %c : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:3>>
  %fq = stablehlo.uniform_quantize %four : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:3>>
  %oq = stablehlo.uniform_quantize %one : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:3>>
  %rq = "stablehlo.batch_norm_inference"(%xq, %cq, %oq, %cq, %fq) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<2x1x!quant.uniform<i8:f32, 0.5:3>>, tensor<1x!quant.uniform<i8:f32, 0.5:3>>,
       tensor<1x!quant.uniform<i8:f32, 0.5:3>>, tensor<1x!quant.uniform<i8:f32, 0.5:3>>,
       tensor<1x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x1x!quant.uniform<i8:f32, 0.5:3>>
  %r = stablehlo.uniform_dequantize %rq : (tensor<2x1x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x1xf32>
  check.expect_eq_const %r, dense<[[5.0], [1.0]]> : tensor<2x1xf32>
  func.return
}
