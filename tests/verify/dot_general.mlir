func.func @products(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<?x3xf32>, %d: tensor<?x4xf32>, %e: tensor<5x2x3xf32>, %f: tensor<3x5xf32>, %g: tensor<?x3xf32, #stablehlo.bounds<8, ?>>, %h: tensor<?x3xf32, #stablehlo.bounds<6, ?>>, %i: tensor<2x3xi8>, %j: tensor<3x4xi8>, %k: tensor<2x3xf8E4M3FN>, %l: tensor<3x4xf8E5M2>) {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "stablehlo.dot_general"(%c, %d) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<?x3xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = "stablehlo.dot_general"(%e, %f) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>} : (tensor<5x2x3xf32>, tensor<3x5xf32>) -> tensor<5x2xf32>
  %3 = "stablehlo.dot_general"(%g, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>, tensor<3x4xf32>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  %4 = "stablehlo.dot_general"(%g, %h) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<?x3xf32, #stablehlo.bounds<8, ?>>, tensor<?x3xf32, #stablehlo.bounds<6, ?>>) -> tensor<?xf32, #stablehlo.bounds<6>>
  %5 = "stablehlo.dot_general"(%i, %j) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  %6 = "stablehlo.dot_general"(%k, %l) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf8E4M3FN>, tensor<3x4xf8E5M2>) -> tensor<2x4xf32>
  %7 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [], rhs_contracting_dimensions = []>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3x3x4xf32>
  func.return
}

func.func @algorithms(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f8E5M2, rhs_precision_type = f8E4M3FN, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %4 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

func.func @quantized(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>, %c: tensor<3x4x!quant.uniform<i8:f32:1, {0.5,0.25,0.5,0.5}>>, %d: tensor<2x3xf32>) {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  %1 = "stablehlo.dot_general"(%a, %c) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32:1, {0.5,0.25,0.5,0.5}>>) -> tensor<2x4x!quant.uniform<i32:f32:1, {0.5,0.25,0.5,0.5}>>
  %2 = "stablehlo.dot_general"(%d, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @dimensions(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<?x3xf32, #stablehlo.bounds<2, ?>>, %d: tensor<5x3xf32>, %e: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>, %f: tensor<3x4xi32>) {
  // expected-error@+1 {{[dot_general_c1] 'stablehlo.dot_general' op rhs_batching_dimensions must have 1 elements, but has 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c2] 'stablehlo.dot_general' op rhs_contracting_dimensions must have 1 elements, but has 2}}
  %1 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0, 1]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c3] 'stablehlo.dot_general' op lhs_batching_dimensions and lhs_contracting_dimensions must not have duplicates, but have 1 twice}}
  %2 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c4] 'stablehlo.dot_general' op rhs_batching_dimensions and rhs_contracting_dimensions must not have duplicates, but have 0 twice}}
  %3 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c5] 'stablehlo.dot_general' op lhs_batching_dimensions must be in [0, 2), but has 2}}
  %4 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c6] 'stablehlo.dot_general' op lhs_contracting_dimensions must be in [0, 2), but has -1}}
  %5 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [-1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c7] 'stablehlo.dot_general' op rhs_batching_dimensions must be in [0, 2), but has 2}}
  %6 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c8] 'stablehlo.dot_general' op rhs_contracting_dimensions must be in [0, 2), but has 2}}
  %7 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c9] 'stablehlo.dot_general' op batching dimensions differ: lhs dimension 0 is 2, rhs dimension 1 is 4}}
  %8 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c9] 'stablehlo.dot_general' op the sizes of batching dimensions exceed their bounds}}
  %9 = "stablehlo.dot_general"(%c, %d) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<?x3xf32, #stablehlo.bounds<2, ?>>, tensor<5x3xf32>) -> tensor<5xf32>
  // expected-error@+1 {{[dot_general_c10] 'stablehlo.dot_general' op contracting dimensions differ: lhs dimension 1 is 3, rhs dimension 1 is 4}}
  %10 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c11] 'stablehlo.dot_general' op precision_config must have one element for each operand, but has 3}}
  %11 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c12] 'stablehlo.dot_general' op result 0 has the inferred type tensor<2x4xf32>}}
  %12 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  // expected-error@+1 {{[dot_general_c12] 'stablehlo.dot_general' op a result of 80 dimensions has too many}}
  %13 = "stablehlo.dot_general"(%e, %e) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [], rhs_contracting_dimensions = []>} : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>, tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<f32>
  // expected-error@+1 {{[dot_general_c21] 'stablehlo.dot_general' op precision_config must be DEFAULT throughout where there is an algorithm}}
  %14 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @quantized(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<3x4xf32>, %c: tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>, %d: tensor<3x4x!quant.uniform<i8:f32, 0.5:7>>, %e: tensor<3x4x!quant.uniform<i8:f32:1, {0.5,0.5,0.5:1,0.5}>>, %f: tensor<3x4x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>, %g: tensor<3x4x!quant.uniform<i4:f32, 0.5>>, %h: tensor<2x3xf16>) {
  // expected-error@+1 {{[dot_general_c14] 'stablehlo.dot_general' op rhs must be quantized, and lhs and result both or neither}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4xf32>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dot_general_c14]}}
  %1 = "stablehlo.dot_general"(%a, %c) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4xf32>
  // expected-error@+1 {{[dot_general_c15] 'stablehlo.dot_general' op zero points of rhs must be 0, but one is 7}}
  %2 = "stablehlo.dot_general"(%a, %d) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:7>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dot_general_c15]}}
  %3 = "stablehlo.dot_general"(%a, %e) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32:1, {0.5,0.5,0.5:1,0.5}>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dot_general_c16] 'stablehlo.dot_general' op rhs must not be quantized along the contracting dimension 0}}
  %4 = "stablehlo.dot_general"(%a, %f) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dot_general_c17] 'stablehlo.dot_general' op lhs and rhs must have one storage type, but have i8 and i4}}
  %5 = "stablehlo.dot_general"(%a, %g) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i4:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.25:0>>
  // expected-error@+1 {{[dot_general_c18] 'stablehlo.dot_general' op lhs, rhs and result must have one expressed type, but have f32, f32 and f16}}
  %6 = "stablehlo.dot_general"(%a, %c) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4x!quant.uniform<i32:f16, 0.25:0>>
  // expected-error@+1 {{[dot_general_c19] 'stablehlo.dot_general' op the result must be quantized per tensor, as rhs is}}
  %7 = "stablehlo.dot_general"(%a, %c) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4x!quant.uniform<i32:f32:1, {0.5,0.5,0.5,0.5}>>
  // expected-error@+1 {{[dot_general_c20] 'stablehlo.dot_general' op lhs and result must have the type that rhs expresses, f32, but have f16 and f32}}
  %8 = "stablehlo.dot_general"(%h, %c) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf16>, tensor<3x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{[dot_general_c22] lhs_component_count must be positive}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{[dot_general_c23] rhs_component_count must be positive}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = -1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{[dot_general_c24] num_primitive_operations must be positive}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{no hardware is known to have this dot algorithm}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{no hardware is known to have this dot algorithm}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 2, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @algorithm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{no hardware is known to have this dot algorithm}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @unknown_key(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "stablehlo.dot_general"(%a, %a) <{
    dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [1],
      // expected-error@+1 {{expected one of lhs_batching_dimensions, rhs_batching_dimensions, lhs_contracting_dimensions, rhs_contracting_dimensions, found 'contracting'}}
      contracting = [0]>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
