func.func @batches(%a: tensor<2x3x5xf32>, %b: tensor<3xf32>, %c: tensor<?x?xf64>, %d: tensor<?xf64>, %e: tensor<?x?xf32, #stablehlo.bounds<4, 6>>, %f: tensor<?xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:3 = "stablehlo.batch_norm_training"(%c, %d, %d) {epsilon = 1.0e-3 : f32, feature_index = 0 : i64} : (tensor<?x?xf64>, tensor<?xf64>, tensor<?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?xf64>)
  %2:3 = "stablehlo.batch_norm_training"(%e, %f, %f) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<?x?xf32, #stablehlo.bounds<4, 6>>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?x?xf32, #stablehlo.bounds<4, 6>>, tensor<?xf32, #stablehlo.bounds<6>>, tensor<?xf32, #stablehlo.bounds<6>>)
  func.return
}

// -----

func.func @refused(%a: tensor<2x3x5xf32>, %b: tensor<3xf32>, %c: tensor<3xf64>, %d: tensor<5xf32>, %e: tensor<1x3xf32>) {
  // expected-error@+1 {{[batch_norm_training_c1] 'stablehlo.batch_norm_training' op feature_index must be in [0, 3), but has 3}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 3 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c1] 'stablehlo.batch_norm_training' op attribute 'feature_index' must be non-negative, but is -1}}
  %1:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = -1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c2] 'stablehlo.batch_norm_training' op operands must have one element type, but have f32 and f64}}
  %2:3 = "stablehlo.batch_norm_training"(%a, %c, %c) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c2] 'stablehlo.batch_norm_training' op result 0 must have elements of type f32}}
  %3:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf64>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c3] 'stablehlo.batch_norm_training' op operand 1 must have an element for each of 3 features, but has 5}}
  %4:3 = "stablehlo.batch_norm_training"(%a, %d, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c4] 'stablehlo.batch_norm_training' op operand 2 must have an element for each of 3 features, but has 5}}
  %5:3 = "stablehlo.batch_norm_training"(%a, %b, %d) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<5xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c7] 'stablehlo.batch_norm_training' op result 0 must have type tensor<2x3x5xf32>, but has tensor<2x3x4xf32>}}
  %6:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c5] 'stablehlo.batch_norm_training' op result 1 must have type tensor<3xf32>, but has tensor<4xf32>}}
  %7:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<4xf32>, tensor<3xf32>)
  // expected-error@+1 {{[batch_norm_training_c6] 'stablehlo.batch_norm_training' op result 2 must have type tensor<3xf32>, but has tensor<4xf32>}}
  %8:3 = "stablehlo.batch_norm_training"(%a, %b, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<4xf32>)
  // expected-error@+1 {{'stablehlo.batch_norm_training' op operand 1 must be a 1-dimensional tensor of floats or quantized numbers, but is tensor<1x3xf32>}}
  %9:3 = "stablehlo.batch_norm_training"(%a, %e, %b) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<2x3x5xf32>, tensor<1x3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}
