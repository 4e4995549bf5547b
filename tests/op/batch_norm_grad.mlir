// batch_norm_grad: gradients of batch_norm_training's operand, scale and offset.

func.func @one_feature() {
  %x = stablehlo.constant dense<[[0.0], [2.0], [4.0], [6.0]]> : tensor<4x1xf64>
  %scale = stablehlo.constant dense<[2.0]> : tensor<1xf64>
  %mean = stablehlo.constant dense<[3.0]> : tensor<1xf64>
  %variance = stablehlo.constant dense<[3.0]> : tensor<1xf64>
  %grad = stablehlo.constant dense<[[1.0], [0.0], [0.0], [3.0]]> : tensor<4x1xf64>
  %r:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %grad) {epsilon = 1.0 : f32, feature_index = 1 : i64}
    : (tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<4x1xf64>)
    -> (tensor<4x1xf64>, tensor<1xf64>, tensor<1xf64>)
  check.expect_eq_const %r#0, dense<[[1.125], [-0.625], [-1.375], [0.875]]> : tensor<4x1xf64>
  check.expect_eq_const %r#1, dense<[3.0]> : tensor<1xf64>
  check.expect_eq_const %r#2, dense<[4.0]> : tensor<1xf64>
  func.return
}

// The same numbers as two features, with dimensions before and after.
func.func @features_in_the_middle() {
  %x = stablehlo.constant dense<[[[0.0, 2.0], [0.0, 2.0]], [[4.0, 6.0], [4.0, 6.0]]]> : tensor<2x2x2xf32>
  %scale = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %c = stablehlo.constant dense<[3.0, 3.0]> : tensor<2xf32>
  %grad = stablehlo.constant dense<[[[1.0, 0.0], [1.0, 0.0]], [[0.0, 3.0], [0.0, 3.0]]]> : tensor<2x2x2xf32>
  %r:3 = "stablehlo.batch_norm_grad"(%x, %scale, %c, %c, %grad) {epsilon = 1.0 : f32, feature_index = 1 : i64}
    : (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2x2xf32>)
    -> (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %r#0, dense<[[[1.125, -0.625], [2.25, -1.25]], [[-1.375, 0.875], [-2.75, 1.75]]]> : tensor<2x2x2xf32>
  check.expect_eq_const %r#1, dense<[3.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %r#2, dense<[4.0, 4.0]> : tensor<2xf32>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<0x2xf16>
  %one = stablehlo.constant dense<1.0> : tensor<2xf16>
  %r:3 = "stablehlo.batch_norm_grad"(%x, %one, %one, %one, %x) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<0x2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<0x2xf16>)
    -> (tensor<0x2xf16>, tensor<2xf16>, tensor<2xf16>)
  check.expect_eq_const %r#0, dense<> : tensor<0x2xf16>
  check.expect_eq_const %r#1, dense<0.0> : tensor<2xf16>
  check.expect_eq_const %r#2, dense<0.0> : tensor<2xf16>
  func.return
}
