func.func @rows(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<2x3xf32>, %d: tensor<5x?xf32>, %e: tensor<?x1xi32>, %f: tensor<4x2xf32>, %g: tensor<2xi32>, %h: tensor<5x3xf16>, %i: tensor<2x3xf16>) {
  %0 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %1 = "stablehlo.scatter"(%d, %e, %f) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x?xf32>, tensor<?x1xi32>, tensor<4x2xf32>) -> tensor<5x?xf32>
  %2 = "stablehlo.scatter"(%a, %g, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %3 = "stablehlo.scatter"(%h, %b, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf16>, tensor<2x1xi32>, tensor<2x3xf16>) -> tensor<5x3xf32>
  func.return
}

func.func @pairs(%a: tensor<5x3xf32>, %b: tensor<5x3xi32>, %c: tensor<2x1xi32>, %d: tensor<2x3xf32>, %e: tensor<2x3xi32>) {
  %0:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>, %z: tensor<f32>, %w: tensor<i32>):
    stablehlo.return %z, %w : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<5x3xi32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<5x3xf32>, tensor<5x3xi32>)
  func.return
}

func.func @batches(%a: tensor<4x5x3xf32>, %b: tensor<2x4x1xi64>, %c: tensor<2x4x3xf32>) {
  %0 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<5x3xf32>, %b: tensor<6x3xf32>, %c: tensor<2x1xi32>, %d: tensor<2x3xf32>, %e: tensor<2x2xf32>, %f: tensor<2x3x1xf32>, %g: tensor<2x4xf32>, %h: tensor<3x3xf32>, %i: tensor<2x3xi32>, %j: tensor<2xf32>, %k: tensor<2x2xi32>) {
  // expected-error@+1 {{[scatter_c1] 'stablehlo.scatter' op inputs must have one shape, but have tensor<5x3xf32> and tensor<6x3xf32>}}
  %0:2 = "stablehlo.scatter"(%a, %b, %c, %d, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<6x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x3xf32>, tensor<6x3xf32>)
  // expected-error@+1 {{[scatter_c2] 'stablehlo.scatter' op update_window_dims, inserted_window_dims and input_batching_dims must have one element for each of the operand's 2 dimensions, but have 3}}
  %1 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c3] 'stablehlo.scatter' op updates must have one shape, but have tensor<2x3xf32> and tensor<2x2xf32>}}
  %2:2 = "stablehlo.scatter"(%a, %a, %c, %d, %e) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x2xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  // expected-error@+1 {{[scatter_c4] 'stablehlo.scatter' op updates must have 2 dimensions, but have 3}}
  %3 = "stablehlo.scatter"(%a, %c, %f) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3x1xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c4] 'stablehlo.scatter' op window dimension 1 of the updates has size 4, but the input's has only 3}}
  %4 = "stablehlo.scatter"(%a, %c, %g) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c4] 'stablehlo.scatter' op dimension 0 of the updates has size 3, but that of the indices has size 2}}
  %5 = "stablehlo.scatter"(%a, %c, %h) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c5] 'stablehlo.scatter' op needs at least one input}}
  "stablehlo.scatter"(%c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2x1xi32>) -> ()
  // expected-error@+1 {{[scatter_c6]}}
  %6 = "stablehlo.scatter"(%a, %c, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xi32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c7] 'stablehlo.scatter' op update_window_dims must be sorted, but is [1, 0]}}
  %7 = "stablehlo.scatter"(%a, %c, %f) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 0], inserted_window_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3x1xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c7] 'stablehlo.scatter' op update_window_dims must not have duplicates, but has 1 twice}}
  %8 = "stablehlo.scatter"(%a, %c, %f) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 1], inserted_window_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3x1xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c8] 'stablehlo.scatter' op update_window_dims must be in [0, 2), but has 2}}
  %9 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c9] 'stablehlo.scatter' op inserted_window_dims and input_batching_dims must not have duplicates, but have 0 twice}}
  %10 = "stablehlo.scatter"(%a, %c, %j) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c10] 'stablehlo.scatter' op inserted_window_dims must be sorted, but is [1, 0]}}
  %11 = "stablehlo.scatter"(%a, %c, %j) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c11] 'stablehlo.scatter' op inserted_window_dims must be in [0, 2), but has -1}}
  %12 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [-1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c19] 'stablehlo.scatter' op scatter_dims_to_operand_dims must have as many elements as there are indices in a vector, 1, but has 2}}
  %13 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c20] 'stablehlo.scatter' op scatter_dims_to_operand_dims and input_batching_dims must not have duplicates, but have 0 twice}}
  %14 = "stablehlo.scatter"(%a, %k, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x2xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c21] 'stablehlo.scatter' op scatter_dims_to_operand_dims must be in [0, 2), but has 2}}
  %15 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c22] 'stablehlo.scatter' op index_vector_dim must be in [0, 3), but has 3}}
  %16 = "stablehlo.scatter"(%a, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

func.func @batching(%a: tensor<4x5x3xf32>, %b: tensor<2x4x1xi64>, %c: tensor<2x4x3xf32>) {
  // expected-error@+1 {{[scatter_c9]}}
  %0 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c12] 'stablehlo.scatter' op input_batching_dims must be sorted, but is [1, 0]}}
  %1 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c13]}}
  %2 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [3], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c14]}}
  %3 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c15]}}
  %4 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c16]}}
  %5 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c17]}}
  %6 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c18]}}
  %7 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  // expected-error@+1 {{[scatter_c20]}}
  %8 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>} : (tensor<4x5x3xf32>, tensor<2x4x1xi64>, tensor<2x4x3xf32>) -> tensor<4x5x3xf32>
  func.return
}

func.func @computation_and_result(%a: tensor<5x3xf32>, %b: tensor<2x1xi32>, %c: tensor<2x3xf32>, %d: tensor<5x3xi64>, %e: tensor<2x3xi32>) {
  // expected-error@+1 {{[scatter_c23] 'stablehlo.scatter' op the reduction must take 2 values, but takes 3}}
  %0 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c6]}}
  %1 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>):
    %r = stablehlo.add %x, %y : tensor<1xf32>
    stablehlo.return %r : tensor<1xf32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[scatter_c23]}}
  %2 = "stablehlo.scatter"(%d, %b, %e) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %r = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xi64>, tensor<2x1xi32>, tensor<2x3xi32>) -> tensor<5x3xi32>
  // expected-error@+1 {{[scatter_c24] 'stablehlo.scatter' op result 0 has the inferred type tensor<5x3xf32>}}
  %3 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<3x5xf32>
  // expected-error@+1 {{[scatter_c24] 'stablehlo.scatter' op infers 1 results, but has 2}}
  %4:2 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  // expected-error@+1 {{[scatter_c25] 'stablehlo.scatter' op result 0 must have elements of type f32}}
  %5 = "stablehlo.scatter"(%a, %b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf64>
  func.return
}
