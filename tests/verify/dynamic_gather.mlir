func.func @rows(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<2xi64>) {
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  %size = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %s = "stablehlo.dynamic_gather"(%a, %b, %size) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<2xi64>, %d: tensor<2x2xi32>, %e: tensor<3xi64>) {
  // expected-error@+1 {{[dynamic_gather_c1]}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c2] 'stablehlo.dynamic_gather' op index_vector_dim must be in [0, 3), but has -1}}
  %1 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = -1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c3]}}
  %2 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c4]}}
  %3 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c5]}}
  %4 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c6] 'stablehlo.dynamic_gather' op collapsed_slice_dims and operand_batching_dims must not have duplicates, but have 0 twice}}
  %5 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c6] 'stablehlo.dynamic_gather' op collapsed_slice_dims must be sorted, but is [1, 0]}}
  %6 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c7]}}
  %7 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  %size0 = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_gather_c8] 'stablehlo.dynamic_gather' op slices must have at most size 1 along collapsed_slice_dims, but have size 2 along dimension 0}}
  %r0 = "stablehlo.dynamic_gather"(%a, %b, %size0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error@+1 {{[dynamic_gather_c9]}}
  %8 = "stablehlo.dynamic_gather"(%a, %d, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x2xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c10]}}
  %9 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf32>
  // expected-error@+1 {{[dynamic_gather_c11] 'stablehlo.dynamic_gather' op slice_sizes must have 2 elements, but has 3}}
  %10 = "stablehlo.dynamic_gather"(%a, %b, %e) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<3xi64>) -> tensor<2x?xf32>
  %size1 = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_gather_c12] 'stablehlo.dynamic_gather' op slice size 4 does not fit dimension 1 of size 3}}
  %r1 = "stablehlo.dynamic_gather"(%a, %b, %size1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xf32>
  %size2 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_gather_c13] 'stablehlo.dynamic_gather' op result 0 has the inferred type tensor<2x2xf32>}}
  %r2 = "stablehlo.dynamic_gather"(%a, %b, %size2) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error@+1 {{[dynamic_gather_c13]}}
  %11 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  // expected-error@+1 {{[dynamic_gather_c14]}}
  %12 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x?xf64>
  func.return
}

func.func @batching(%a: tensor<4x5x3xf32>, %b: tensor<2x4x1xi64>, %c: tensor<3xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_gather' op batching dimension 0 has size 4 in the operand, but 2 in the indices}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<3xi64>) -> tensor<2x4x?xf32>
  func.return
}
