// batch_norm_training: each feature's mean and variance, and the operand normalised by them.

func.func @features_last() {
  %x = stablehlo.constant dense<[[1.0, 10.0], [3.0, 20.0], [1.0, 30.0], [3.0, 40.0]]> : tensor<4x2xf32>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[0.0, 5.0]> : tensor<2xf32>
  %r:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_almost_eq_const %r#0, dense<[[-2.0, 3.65835921], [2.0, 4.55278640], [-2.0, 5.44721360], [2.0, 6.34164079]]>
    : tensor<4x2xf32>
  check.expect_eq_const %r#1, dense<[2.0, 25.0]> : tensor<2xf32>
  check.expect_eq_const %r#2, dense<[1.0, 125.0]> : tensor<2xf32>
  func.return
}

func.func @features_first() {
  %x = stablehlo.constant dense<[[[1.0, 3.0], [5.0, 7.0]]]> : tensor<1x2x2xf64>
  %scale = stablehlo.constant dense<[1.0]> : tensor<1xf64>
  %offset = stablehlo.constant dense<[4.0]> : tensor<1xf64>
  %r:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 4.0 : f32, feature_index = 0 : i64}
    : (tensor<1x2x2xf64>, tensor<1xf64>, tensor<1xf64>) -> (tensor<1x2x2xf64>, tensor<1xf64>, tensor<1xf64>)
  check.expect_eq_const %r#0, dense<[[[3.0, 3.6666666666666665], [4.333333333333333, 5.0]]]> : tensor<1x2x2xf64>
  check.expect_eq_const %r#1, dense<[4.0]> : tensor<1xf64>
  check.expect_eq_const %r#2, dense<[5.0]> : tensor<1xf64>
  func.return
}

// The same bits as the op's decomposition, in a format that rounds at every step.
func.func @decomposition() {
  %x = stablehlo.constant dense<[[0.1, 0.7], [1.3, -2.9], [3.7, 0.01]]> : tensor<3x2xbf16>
  %scale = stablehlo.constant dense<[1.1, 0.9]> : tensor<2xbf16>
  %offset = stablehlo.constant dense<[0.3, -0.7]> : tensor<2xbf16>
  %r:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.001 : f32, feature_index = 1 : i64}
    : (tensor<3x2xbf16>, tensor<2xbf16>, tensor<2xbf16>) -> (tensor<3x2xbf16>, tensor<2xbf16>, tensor<2xbf16>)
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %three = stablehlo.constant dense<3.0> : tensor<2xbf16>
  %epsilon = stablehlo.constant dense<0.001> : tensor<3x2xbf16>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<3x2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %mean = stablehlo.divide %sum, %three : tensor<2xbf16>
  check.expect_eq %r#1, %mean : tensor<2xbf16>
  %mean_b = stablehlo.broadcast_in_dim %mean, dims = [1] : (tensor<2xbf16>) -> tensor<3x2xbf16>
  %centred = stablehlo.subtract %x, %mean_b : tensor<3x2xbf16>
  %squares = stablehlo.multiply %centred, %centred : tensor<3x2xbf16>
  %sum_of_squares = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<3x2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %variance = stablehlo.divide %sum_of_squares, %three : tensor<2xbf16>
  check.expect_eq %r#2, %variance : tensor<2xbf16>
  %variance_b = stablehlo.broadcast_in_dim %variance, dims = [1] : (tensor<2xbf16>) -> tensor<3x2xbf16>
  %scale_b = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<2xbf16>) -> tensor<3x2xbf16>
  %offset_b = stablehlo.broadcast_in_dim %offset, dims = [1] : (tensor<2xbf16>) -> tensor<3x2xbf16>
  %spread = stablehlo.add %variance_b, %epsilon : tensor<3x2xbf16>
  %deviation = stablehlo.sqrt %spread : tensor<3x2xbf16>
  %normal = stablehlo.divide %centred, %deviation : tensor<3x2xbf16>
  %scaled = stablehlo.multiply %scale_b, %normal : tensor<3x2xbf16>
  %result = stablehlo.add %scaled, %offset_b : tensor<3x2xbf16>
  check.expect_eq %r#0, %result : tensor<3x2xbf16>
  func.return
}

// Without a batch there is no mean: 0 / 0.
func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<0x1xf32>
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %r:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<0x1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<0x1xf32>, tensor<1xf32>, tensor<1xf32>)
  check.expect_eq_const %r#0, dense<> : tensor<0x1xf32>
  %is_nan = stablehlo.compare NE, %r#1, %r#1 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  check.expect_eq_const %is_nan, dense<true> : tensor<1xi1>
  func.return
}
