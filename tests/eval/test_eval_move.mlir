// What the verifier cannot see: sizes and shapes that are known only when the program runs. Each program ends with the expected
// error, at that line.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %open = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  // expected-error@+1 {{cannot broadcast operand dimension 0 of size 3 to size 4}}
  %r = stablehlo.broadcast_in_dim %open, dims = [1] : (tensor<?xi32>) -> tensor<2x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<2xi64>
  %shape = stablehlo.negate %three : tensor<2xi64>
  // expected-error@+1 {{has result dimension 0 of negative size -3}}
  %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [] : (tensor<i32>, tensor<2xi64>) -> tensor<?x?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi64>
  %shape = stablehlo.add %three, %three : tensor<1xi64>
  // expected-error@+1 {{cannot broadcast operand dimension 0 of size 2 to size 6}}
  %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0] : (tensor<2xi32>, tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<0> : tensor<1x2xi32>
  %b = stablehlo.constant dense<0> : tensor<1x3xi32>
  %a_open = tensor.cast %a : tensor<1x2xi32> to tensor<1x?xi32>
  %b_open = tensor.cast %b : tensor<1x3xi32> to tensor<1x?xi32>
  // expected-error@+1 {{has operands of sizes 2 and 3 in dimension 1}}
  %r = stablehlo.concatenate %a_open, %b_open, dim = 0 : (tensor<1x?xi32>, tensor<1x?xi32>) -> tensor<2x?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %open = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  %i = stablehlo.constant dense<0> : tensor<i64>
  // expected-error@+1 {{has a slice of size 4 in dimension 0 of size 3}}
  %r = stablehlo.dynamic_slice %open, %i, sizes = [4] : (tensor<?xi32>, tensor<i64>) -> tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %u = stablehlo.constant dense<0> : tensor<5xi32>
  %open = tensor.cast %u : tensor<5xi32> to tensor<?xi32>
  %i = stablehlo.constant dense<0> : tensor<i64>
  // expected-error@+1 {{has a slice of size 5 in dimension 0 of size 3}}
  %r = stablehlo.dynamic_update_slice %x, %open, %i : (tensor<3xi32>, tensor<?xi32>, tensor<i64>) -> tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %open = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  // expected-error@+1 {{cannot pad dimension 0 of size 3 by -2, -2 and 0 between elements}}
  %r = stablehlo.pad %open, %p, low = [-2], high = [-2], interior = [0] : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %minus_one = stablehlo.negate %one : tensor<1xi64>
  // expected-error@+1 {{cannot pad dimension 0 of size 2 by 1, 1 and -1 between elements}}
  %r = stablehlo.dynamic_pad %x, %p, %one, %one, %minus_one
    : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %half = stablehlo.constant dense<4611686018427387904> : tensor<1xi64>
  %most = stablehlo.not %half : tensor<1xi64>
  %large = stablehlo.negate %most : tensor<1xi64>
  %zero = stablehlo.constant dense<0> : tensor<1xi64>
  // expected-error@+1 {{cannot pad dimension 0 of size 2}}
  %r = stablehlo.dynamic_pad %x, %p, %large, %half, %zero
    : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %three = stablehlo.constant dense<3> : tensor<1xi64>
  %four = stablehlo.add %one, %three : tensor<1xi64>
  // expected-error@+1 {{slices dimension 0 of size 3 from 1 to 4 by 1}}
  %r = stablehlo.real_dynamic_slice %x, %one, %four, %one
    : (tensor<3xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %zero = stablehlo.subtract %one, %one : tensor<1xi64>
  // expected-error@+1 {{slices dimension 0 of size 3 from 1 to 1 by 0}}
  %r = stablehlo.real_dynamic_slice %x, %one, %one, %zero
    : (tensor<3xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %open = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  // expected-error@+1 {{slices dimension 0 of size 3 from 1 to 4 by 1}}
  %r = stablehlo.slice %open [1:4] : (tensor<?xi32>) -> tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %open = tensor.cast %x : tensor<3xf64> to tensor<?xf64>
  // expected-error@+1 {{has 3 elements in the operand but 4 in the result}}
  %r = stablehlo.reshape %open : (tensor<?xf64>) -> tensor<2x2xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %one = stablehlo.constant dense<1> : tensor<2xi64>
  %three = stablehlo.constant dense<3> : tensor<2xi64>
  %shape = stablehlo.maximum %one, %three : tensor<2xi64>
  // expected-error@+1 {{has 4 elements in the operand but 9 in the result}}
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<4xi32>, tensor<2xi64>) -> tensor<?x?xi32>
  func.return
}

// -----

// The product of two negative sizes is no excuse.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %two = stablehlo.constant dense<2> : tensor<2xi64>
  %shape = stablehlo.negate %two : tensor<2xi64>
  // expected-error@+1 {{has result dimension 0 of negative size -2}}
  %r = stablehlo.dynamic_reshape %x, %shape : (tensor<4xi32>, tensor<2xi64>) -> tensor<?x?xi32>
  func.return
}

// -----

func.func @main() {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %shape = stablehlo.negate %one : tensor<1xi64>
  // expected-error@+1 {{has result dimension 0 of negative size -1}}
  %r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi64>) -> tensor<?xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xi32>
  %i = stablehlo.constant dense<[0]> : tensor<1xi32>
  // expected-error@+1 {{takes one place of dimension 0 of size 0}}
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 0>
  } : (tensor<0xi32>, tensor<1xi32>) -> tensor<1xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<0> : tensor<2x3xi32>
  %i = stablehlo.constant dense<0> : tensor<3x1xi32>
  %open = tensor.cast %i : tensor<3x1xi32> to tensor<?x1xi32>
  // expected-error@+1 {{has batching dimension 0 of size 2, but indices for 3}}
  %r = "stablehlo.gather"(%x, %open) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
                                          start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>
  } : (tensor<2x3xi32>, tensor<?x1xi32>) -> tensor<?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %starts = stablehlo.constant dense<[[0]]> : tensor<1x1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %four = stablehlo.add %two, %two : tensor<1xi64>
  // expected-error@+1 {{has slice size 4 for dimension 0 of size 3}}
  %r = "stablehlo.dynamic_gather"(%x, %starts, %four) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>
  } : (tensor<3xi32>, tensor<1x1xi32>, tensor<1xi64>) -> tensor<1x?xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %starts = stablehlo.constant dense<[[0]]> : tensor<1x1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  // expected-error@+1 {{takes one place of dimension 0 of size 3 with slice size 2}}
  %r = "stablehlo.dynamic_gather"(%x, %starts, %two) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  } : (tensor<3xi32>, tensor<1x1xi32>, tensor<1xi64>) -> tensor<1xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %i = stablehlo.constant dense<[0]> : tensor<1xi32>
  // expected-error@+1 {{cannot select along dimension 1 with 0 batch dimensions}}
  %r = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64}
    : (tensor<2xi32>, tensor<1xi32>) -> tensor<1xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xi32>
  %i = stablehlo.constant dense<[0]> : tensor<1xi32>
  // expected-error@+1 {{selects from dimension 0 of size 0}}
  %r = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64}
    : (tensor<0xi32>, tensor<1xi32>) -> tensor<1xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<0> : tensor<4xi32>
  %places = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<0> : tensor<3xi32>
  %open = tensor.cast %u : tensor<3xi32> to tensor<?xi32>
  // expected-error@+1 {{has updates of size 3 in dimension 0 instead of 2}}
  %r = "stablehlo.scatter"(%x, %places, %open) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    stablehlo.return %new : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<4xi32>, tensor<2x1xi32>, tensor<?xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<2xf32>
  %open = tensor.cast %x : tensor<2x3xf32> to tensor<2x?xf32>
  // expected-error@+1 {{has 3 features in dimension 1, but operand 1 does not fit that}}
  %r = "stablehlo.batch_norm_inference"(%open, %c, %c, %c, %c) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<2x?xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x?xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %grad = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<3xf32>
  %open = tensor.cast %grad : tensor<4x3xf32> to tensor<?x3xf32>
  // expected-error@+1 {{operand 4 does not fit that}}
  %r:3 = "stablehlo.batch_norm_grad"(%x, %c, %c, %c, %open) {epsilon = 0.0 : f32, feature_index = 1 : i64}
    : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3xf32>)
    -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %open = tensor.cast %x : tensor<2xi32> to tensor<?xi32>
  // expected-error@+1 {{cannot take 3 of 2 elements}}
  %v, %i = chlo.top_k(%open, k = 3) : tensor<?xi32> -> (tensor<3xi32>, tensor<3xi32>)
  func.return
}
