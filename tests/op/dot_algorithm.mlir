// Algorithms of dot_general: operands are rounded to the algorithm's type, or split into parts of it, and sums are of its
// type. Each expected value is one that other algorithms do not have.

// 1 + 2^-9 is rounded to 1
func.func @bf16() {
  %a = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %b = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.0> : tensor<f32>
  return
}

// -----

// 2^-18, the product of the low parts, is left out
func.func @bf16_x3() {
  %a = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %b = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.00390625> : tensor<f32>
  return
}

// -----

// all of (1 + 2^-9)^2
func.func @bf16_x6() {
  %a = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %b = stablehlo.constant dense<[1.001953125]> : tensor<1xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false>
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.003910064697265625> : tensor<f32>
  return
}

// -----

// of (1 + 2^-9 + 2^-17)^2, what is less than 2^-18 is left out
func.func @bf16_x6_parts() {
  %a = stablehlo.constant dense<[1.0019607543945312, -1.0, -0.00390625, -1.52587890625e-05, -3.814697265625e-06]> : tensor<5xf32>
  %b = stablehlo.constant dense<[1.0019607543945312, 1.0, 1.0, 1.0, 1.0]> : tensor<5xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false>
      : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<0.0> : tensor<f32>
  return
}

// -----

// of that, 2^-25 is what two small parts are
func.func @bf16_x9() {
  %a = stablehlo.constant dense<[1.0019607543945312, -1.0, -0.00390625, -1.52587890625e-05, -3.814697265625e-06]> : tensor<5xf32>
  %b = stablehlo.constant dense<[1.0019607543945312, 1.0, 1.0, 1.0, 1.0]> : tensor<5xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 9, allow_imprecise_accumulation = false>
      : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<2.9802322387695312e-08> : tensor<f32>
  return
}

// -----

// parts of infinity that are no numbers do not count
func.func @bf16_x3_infinity() {
  %a = stablehlo.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<0x7F800000> : tensor<f32>
  return
}

// -----

// 257 is no number of bf16
func.func @bf16_sum() {
  %a = stablehlo.constant dense<[256.0, 1.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = bf16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<f32>
  check.expect_eq_const %dot, dense<256.0> : tensor<f32>
  return
}

// -----

// but one of f32
func.func @bf16_sum_f32() {
  %a = stablehlo.constant dense<[256.0, 1.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xbf16>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<f32>
  check.expect_eq_const %dot, dense<257.0> : tensor<f32>
  return
}

// -----

// 2049 is no number of f16
func.func @f16_sum() {
  %a = stablehlo.constant dense<[2048.0, 1.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<2048.0> : tensor<f32>
  return
}

// -----

// but one of f32; 2049.0 as an operand is rounded
func.func @f16_sum_f32() {
  %a = stablehlo.constant dense<[2049.0, 1.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<2049.0> : tensor<f32>
  return
}

// -----

// 1 + 2^-11 is rounded to 1, 1 + 2^-11 + 2^-12 to 1 + 2^-10
func.func @tf32() {
  %a = stablehlo.constant dense<[1.00048828125, 1.000732421875]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<2.0009765625> : tensor<f32>
  return
}

// -----

// 2^-22 of (1 + 2^-11)^2 is left out
func.func @tf32_x3() {
  %a = stablehlo.constant dense<[1.00048828125]> : tensor<1xf32>
  %b = stablehlo.constant dense<[1.00048828125]> : tensor<1xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.0009765625> : tensor<f32>
  return
}

// -----

// 1 + 2^-30 is rounded to 1
func.func @f32() {
  %a = stablehlo.constant dense<[1.0000000009313226]> : tensor<1xf64>
  %b = stablehlo.constant dense<[1.0]> : tensor<1xf64>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<1xf64>, tensor<1xf64>) -> tensor<f64>
  check.expect_eq_const %dot, dense<1.0> : tensor<f64>
  return
}

// -----

// 2^24 + 1 is no number of f32
func.func @f64() {
  %a = stablehlo.constant dense<[16777216.0, 1.0, 1.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[1.0, 1.0, 1.0]> : tensor<3xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<16777218.0> : tensor<f32>
  return
}

// -----

// 1.3 is rounded to 1.25
func.func @f8() {
  %a = stablehlo.constant dense<[1.3]> : tensor<1xf32>
  %b = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.25> : tensor<f32>
  return
}

// -----

// 8-bit floats of any format are taken as they are
func.func @f8_formats() {
  %a = stablehlo.constant dense<[1.125]> : tensor<1xf8E4M3FN>
  %b = stablehlo.constant dense<[1.0]> : tensor<1xf8E4M3FN>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0],
      algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<1xf8E4M3FN>, tensor<1xf8E4M3FN>) -> tensor<f32>
  check.expect_eq_const %dot, dense<1.125> : tensor<f32>
  return
}

// -----

// blocks of a matrix product; 2^-18 is left out
func.func @bf16_x3_blocks() {
  %a = stablehlo.constant dense<1.001953125> : tensor<2x32x32xf32>
  %dot = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
      : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  check.expect_eq_const %dot, dense<32.125> : tensor<2x32x32xf32>
  return
}

// -----

// sizes that are known when it runs
func.func @bf16_x3_dynamic() {
  %n = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %c = stablehlo.constant dense<1.001953125> : tensor<f32>
  %a = stablehlo.dynamic_broadcast_in_dim %c, %n, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
  %dot = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>
      : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = stablehlo.dynamic_reshape %dot, %n : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  check.expect_eq_const %r, dense<2.0078125> : tensor<2x2xf32>
  return
}

// -----

// integers are converted to the algorithm's types and back
func.func @integers() {
  %a = stablehlo.constant dense<[[1, 2], [3, 257]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[1, 0], [0, 1]]> : tensor<2x2xi32>
  %dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0],
      algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
      : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %dot, dense<[[1, 2], [3, 256]]> : tensor<2x2xi32>
  return
}
