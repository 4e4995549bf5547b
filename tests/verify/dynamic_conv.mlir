func.func @shapes(%a: tensor<2x9x8x6xf32>, %b: tensor<3x3x6x4xf32>, %c: tensor<2x2xi64>, %d: tensor<?x?x8x6xf32>, %e: tensor<4x9x8x6xf32>, %f: tensor<3x3x3x4xf32>, %g: tensor<2x6xf32>, %h: tensor<6x4xf32>, %i: tensor<0x2xi64>, %j: tensor<2x9x8x6xi8>, %k: tensor<3x3x6x4xi8>) {
  %0 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  %1 = "stablehlo.dynamic_conv"(%d, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 2, 1>, lhs_dilation = array<i64: 1, 2>, rhs_dilation = array<i64: 1, 3>, window_reversal = array<i1: true, false>} : (tensor<?x?x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<?x?x?x4xf32>
  %2 = "stablehlo.dynamic_conv"(%e, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<4x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  %3 = "stablehlo.dynamic_conv"(%a, %f, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  %4 = "stablehlo.dynamic_conv"(%g, %h, %i) {dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x6xf32>, tensor<6x4xf32>, tensor<0x2xi64>) -> tensor<2x4xf32>
  %5 = "stablehlo.dynamic_conv"(%j, %k, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xi8>, tensor<3x3x6x4xi8>, tensor<2x2xi64>) -> tensor<2x?x?x4xi32>
  func.return
}

func.func @constant_padding(%a: tensor<2x9x8x6xf32>, %b: tensor<3x3x6x4xf32>) {
  %padding = stablehlo.constant dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>
  %0 = "stablehlo.dynamic_conv"(%a, %b, %padding) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x9x8x4xf32>
  func.return
}

func.func @quantized(%a: tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, %c: tensor<2x2xi64>, %d: tensor<2x9x8x6xf32>, %e: tensor<3x3x6x4x!quant.uniform<i8:f32:3, {0.5,0.5,0.25,0.5}>>) {
  %0 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32, 0.25:0>>
  %1 = "stablehlo.dynamic_conv"(%d, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  %2 = "stablehlo.dynamic_conv"(%a, %e, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f32:3, {0.5,0.5,0.25,0.5}>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32:3, {0.5,0.5,0.25,0.5}>>
  func.return
}

// -----

func.func @windows_and_groups(%a: tensor<2x9x8x6xf32>, %b: tensor<3x6x4xf32>, %c: tensor<2x2xi64>, %d: tensor<3x3x6x4xf32>, %e: tensor<2x3xi64>, %f: tensor<3x3x6x5xf32>, %g: tensor<3x3x3x5xf32>) {
  // expected-error@+1 {{[dynamic_conv_c1] 'stablehlo.dynamic_conv' op lhs and rhs must have one rank, but have 4 and 3}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c2] 'stablehlo.dynamic_conv' op window_strides must have 2 elements, but has 1}}
  %1 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c3] 'stablehlo.dynamic_conv' op window_strides must be positive, but is [1, 0]}}
  %2 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1, 0>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c4] 'stablehlo.dynamic_conv' op padding must have the shape [2, 2], but has [2, 3]}}
  %3 = "stablehlo.dynamic_conv"(%a, %d, %e) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x3xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c5]}}
  %4 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1, 1>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c6]}}
  %5 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c7]}}
  %6 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 1>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c8]}}
  %7 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 1, -1>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c9] 'stablehlo.dynamic_conv' op window_reversal must have 2 elements, but has 1}}
  %8 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: true>} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c10] 'stablehlo.dynamic_conv' op the input batch dimension of size 2 must be a multiple of batch_group_count, 4}}
  %9 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 4 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c11] 'stablehlo.dynamic_conv' op the input feature dimension of size 6 must be a multiple of feature_group_count, 4}}
  %10 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 4 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c14] 'stablehlo.dynamic_conv' op the kernel input feature dimension must have size 3, the input features of a group, but has 6}}
  %11 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c15] 'stablehlo.dynamic_conv' op the kernel output feature dimension of size 5 must be a multiple of batch_group_count, 2}}
  %12 = "stablehlo.dynamic_conv"(%a, %f, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x5xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c16] 'stablehlo.dynamic_conv' op the kernel output feature dimension of size 5 must be a multiple of feature_group_count, 2}}
  %13 = "stablehlo.dynamic_conv"(%a, %g, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x3x5xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c21] 'stablehlo.dynamic_conv' op attribute 'feature_group_count' must be positive, but is 0}}
  %14 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c22] 'stablehlo.dynamic_conv' op attribute 'batch_group_count' must be positive, but is -1}}
  %15 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = -1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c23] 'stablehlo.dynamic_conv' op feature_group_count or batch_group_count must be 1, but they are 2 and 2}}
  %16 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c24]}}
  %17 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  func.return
}

// -----

func.func @dimensions_and_result(%a: tensor<2x9x8x6xf32>, %b: tensor<3x3x6x4xf32>, %c: tensor<2x2xi64>, %d: tensor<6xf32>, %e: tensor<3x3x6x4xf64>, %f: tensor<0x3x6x4xf32>) {
  // expected-error@+1 {{[dynamic_conv_c12] 'stablehlo.dynamic_conv' op input_spatial_dimensions must have 2 elements, but has 1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c13] 'stablehlo.dynamic_conv' op operands must have at least 2 dimensions, but lhs has 1}}
  %1 = "stablehlo.dynamic_conv"(%d, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<6xf32>, tensor<6xf32>, tensor<2x2xi64>) -> tensor<6xf32>
  // expected-error@+1 {{[dynamic_conv_c13] 'stablehlo.dynamic_conv' op the input's batch and feature dimensions must be in [0, 4), but has 4}}
  %2 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 4, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c13] 'stablehlo.dynamic_conv' op input_spatial_dimensions must be in [0, 4), but has -1}}
  %3 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, -1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c13] 'stablehlo.dynamic_conv' op input_spatial_dimensions and the input's batch and feature dimensions must not have duplicates, but have 0 twice}}
  %4 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [0, 1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c17] 'stablehlo.dynamic_conv' op kernel_spatial_dimensions must have 2 elements, but has 3}}
  %5 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1, 2], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c18] 'stablehlo.dynamic_conv' op the kernel's feature dimensions must be in [0, 4), but has 4}}
  %6 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 4, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c18] 'stablehlo.dynamic_conv' op kernel_spatial_dimensions and the kernel's feature dimensions must not have duplicates, but have 3 twice}}
  %7 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 3, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c19]}}
  %8 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c20] 'stablehlo.dynamic_conv' op the output's batch and feature dimensions must be in [0, 4), but has -1}}
  %9 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = -1, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c20]}}
  %10 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 3, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{[dynamic_conv_c25] 'stablehlo.dynamic_conv' op result 0 has the inferred type}}
  %11 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<3x?x?x4xf32>
  %padding = stablehlo.constant dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>
  // expected-error@+1 {{[dynamic_conv_c25] 'stablehlo.dynamic_conv' op result 0 has the inferred type tensor<2x9x8x4xf32>}}
  %x = "stablehlo.dynamic_conv"(%a, %b, %padding) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x7x6x4xf32>
  // expected-error@+1 {{[dynamic_conv_c26] 'stablehlo.dynamic_conv' op the result must have 4 dimensions, but has 3}}
  %12 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x4x7xf32>
  // expected-error@+1 {{[dynamic_conv_c27] 'stablehlo.dynamic_conv' op lhs and rhs must have one element type, but have f32 and f64}}
  %13 = "stablehlo.dynamic_conv"(%a, %e, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<3x3x6x4xf64>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  // expected-error@+1 {{'stablehlo.dynamic_conv' op the window must have a positive size in each dimension, but has [0, 3]}}
  %14 = "stablehlo.dynamic_conv"(%a, %f, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf32>, tensor<0x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  func.return
}

// -----

func.func @quantized(%a: tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<3x3x6x4xf32>, %c: tensor<2x2xi64>, %d: tensor<3x3x6x4x!quant.uniform<i8:f32:0, {0.5,0.5,0.25}>>, %e: tensor<3x3x6x4x!quant.uniform<i8:f32:3, {0.5,0.5,0.25,0.5}>>, %f: tensor<3x3x6x4x!quant.uniform<i4:f32, 0.5>>, %g: tensor<3x3x6x4x!quant.uniform<i8:f16, 0.5>>, %h: tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, %i: tensor<2x9x8x6xf16>) {
  // expected-error@+1 {{[dynamic_conv_c28] 'stablehlo.dynamic_conv' op rhs must be quantized, and lhs and result both or neither}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4xf32>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dynamic_conv_c29] 'stablehlo.dynamic_conv' op rhs is quantized along dimension 0, which is not kernel_output_feature_dimension}}
  %1 = "stablehlo.dynamic_conv"(%a, %d, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f32:0, {0.5,0.5,0.25}>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dynamic_conv_c30] 'stablehlo.dynamic_conv' op the result is quantized along dimension 0, which is not output_feature_dimension}}
  %2 = "stablehlo.dynamic_conv"(%a, %e, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f32:3, {0.5,0.5,0.25,0.5}>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32:0, {0.5,0.5}>>
  // expected-error@+1 {{[dynamic_conv_c31] 'stablehlo.dynamic_conv' op lhs and rhs must have one storage type, but have i8 and i4}}
  %3 = "stablehlo.dynamic_conv"(%a, %f, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i4:f32, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dynamic_conv_c32] 'stablehlo.dynamic_conv' op lhs, rhs and result must have one expressed type, but have f32, f16 and f32}}
  %4 = "stablehlo.dynamic_conv"(%a, %g, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f16, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dynamic_conv_c33] 'stablehlo.dynamic_conv' op the result must be quantized per tensor, as rhs is}}
  %5 = "stablehlo.dynamic_conv"(%a, %h, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4x!quant.uniform<i32:f32:3, {0.5,0.5,0.25,0.5}>>
  // expected-error@+1 {{[dynamic_conv_c34] 'stablehlo.dynamic_conv' op lhs and result must have the type that rhs expresses, f32, but have f16 and f32}}
  %6 = "stablehlo.dynamic_conv"(%i, %h, %c) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x8x6xf16>, tensor<3x3x6x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<2x?x?x4xf32>
  func.return
}
