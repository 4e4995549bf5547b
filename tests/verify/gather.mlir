func.func @rows(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<5x?xf32>, %d: tensor<?x1xi32>, %e: tensor<2xi32>, %f: tensor<?x1xi32, #stablehlo.bounds<9, ?>>) {
  %0 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  %1 = "stablehlo.gather"(%c, %d) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x?xf32>, tensor<?x1xi32>) -> tensor<?x3xf32>
  %2 = "stablehlo.gather"(%a, %e) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %3 = "stablehlo.gather"(%a, %f) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<?x1xi32, #stablehlo.bounds<9, ?>>) -> tensor<?x3xf32, #stablehlo.bounds<9, ?>>
  func.return
}

func.func @windows_first(%a: tensor<5x3xf32>, %b: tensor<4x2xi64>) {
  %0 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<5x3xf32>, tensor<4x2xi64>) -> tensor<2x4xf32>
  func.return
}

func.func @batches(%a: tensor<4x5x3xf32>, %b: tensor<2x4x1xi64>) {
  %0 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{[gather_c1] 'stablehlo.gather' op offset_dims, collapsed_slice_dims and operand_batching_dims must have one element for each of the operand's 2 dimensions, but have 3}}
  %0 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c2] 'stablehlo.gather' op index_vector_dim must be in [0, 3), but has 3}}
  %1 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c3] 'stablehlo.gather' op start_index_map must have as many elements as there are indices in a vector, 1, but has 2}}
  %2 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c3]}}
  %3 = "stablehlo.gather"(%a, %c) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c4] 'stablehlo.gather' op offset_dims must be sorted, but is [2, 1]}}
  %4 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c4] 'stablehlo.gather' op offset_dims must not have duplicates, but has 1 twice}}
  %5 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], collapsed_slice_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c5] 'stablehlo.gather' op offset_dims must be in [0, 2), but has 2}}
  %6 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c5]}}
  %7 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [-1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c6] 'stablehlo.gather' op collapsed_slice_dims and operand_batching_dims must not have duplicates, but have 0 twice}}
  %8 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c7] 'stablehlo.gather' op collapsed_slice_dims must be sorted, but is [1, 0]}}
  %9 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c8] 'stablehlo.gather' op collapsed_slice_dims must be in [0, 2), but has 2}}
  %10 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c9] 'stablehlo.gather' op slices must have at most size 1 along collapsed_slice_dims, but have size 2 along dimension 0}}
  %11 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c20] 'stablehlo.gather' op slice_sizes must have 2 elements, but has 1}}
  %12 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c21] 'stablehlo.gather' op slice size 4 does not fit dimension 1 of size 3}}
  %13 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c21]}}
  %14 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, -1>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[gather_c22] 'stablehlo.gather' op result 0 has the inferred type tensor<2x3xf32>}}
  %15 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<3x2xf32>
  // expected-error@+1 {{[gather_c23] 'stablehlo.gather' op operand and result must have one element type, but have f32 and f64}}
  %16 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf64>
  func.return
}

// -----

func.func @batching(%a: tensor<4x5x3xf32>, %b: tensor<2x4x1xi64>) {
  // expected-error@+1 {{[gather_c6]}}
  %0 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c10] 'stablehlo.gather' op operand_batching_dims must be sorted, but is [1, 0]}}
  %1 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c11] 'stablehlo.gather' op operand_batching_dims must be in [0, 3), but has 3}}
  %2 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [3], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c12] 'stablehlo.gather' op slices must have at most size 1 along operand_batching_dims, but have size 4 along dimension 0}}
  %3 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 4, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c13] 'stablehlo.gather' op start_indices_batching_dims must not have duplicates, but has 1 twice}}
  %4 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1, 1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c14] 'stablehlo.gather' op start_indices_batching_dims must be in [0, 3), but has 3}}
  %5 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c15] 'stablehlo.gather' op start_indices_batching_dims must not contain index_vector_dim 2}}
  %6 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c16] 'stablehlo.gather' op operand_batching_dims and start_indices_batching_dims must have one size, but have 1 and 0}}
  %7 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c17] 'stablehlo.gather' op batching dimension 0 has size 4 in the operand, but 2 in the indices}}
  %8 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c18] 'stablehlo.gather' op start_index_map and operand_batching_dims must not have duplicates, but have 0 twice}}
  %9 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[gather_c19] 'stablehlo.gather' op start_index_map must be in [0, 3), but has 3}}
  %10 = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  func.return
}
