func.func @batches(%a: tensor<2x3x5xf32>, %b: tensor<3xf32>, %c: tensor<?x?xf64>, %d: tensor<?xf64>) {
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  %1 = "stablehlo.batch_norm_inference"(%c, %d, %d, %d, %d) {epsilon = 1.0e-3 : f32, feature_index = 0 : i64} : (tensor<?x?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) -> tensor<?x?xf64>
  func.return
}

// -----

func.func @refused(%a: tensor<2x3x5xf32>, %b: tensor<3xf32>, %c: tensor<3xf64>, %d: tensor<5xf32>, %e: tensor<1x3xf32>) {
  // expected-error@+1 {{[batch_norm_inference_c1] 'stablehlo.batch_norm_inference' op feature_index must be in [0, 3), but has 3}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 3 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c1] 'stablehlo.batch_norm_inference' op attribute 'feature_index' must be non-negative, but is -1}}
  %1 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = -1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c2] 'stablehlo.batch_norm_inference' op operands must have one element type, but have f32 and f64}}
  %2 = "stablehlo.batch_norm_inference"(%a, %c, %c, %c, %c) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c2] 'stablehlo.batch_norm_inference' op result 0 must have elements of type f32}}
  %3 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf64>
  // expected-error@+1 {{[batch_norm_inference_c3] 'stablehlo.batch_norm_inference' op operand 1 must have an element for each of 3 features, but has 5}}
  %4 = "stablehlo.batch_norm_inference"(%a, %d, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c4] 'stablehlo.batch_norm_inference' op operand 2 must have an element for each of 3 features, but has 5}}
  %5 = "stablehlo.batch_norm_inference"(%a, %b, %d, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c5] 'stablehlo.batch_norm_inference' op operand 3 must have an element for each of 3 features, but has 5}}
  %6 = "stablehlo.batch_norm_inference"(%a, %b, %b, %d, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c6] 'stablehlo.batch_norm_inference' op operand 4 must have an element for each of 3 features, but has 5}}
  %7 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %d) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  // expected-error@+1 {{[batch_norm_inference_c7] 'stablehlo.batch_norm_inference' op result 0 must have type tensor<2x3x5xf32>, but has tensor<2x3x4xf32>}}
  %8 = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // expected-error@+1 {{'stablehlo.batch_norm_inference' op operand 1 must be a 1-dimensional tensor of floats or quantized numbers, but is tensor<1x3xf32>}}
  %9 = "stablehlo.batch_norm_inference"(%a, %e, %b, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  func.return
}
