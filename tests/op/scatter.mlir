// scatter: updates at the places that index vectors name; what lies outside of the inputs is skipped, element by element.

// Rows 2, 0 and 2 again: the last one is added to the first.
func.func @add_rows() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = stablehlo.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[[10.0, 20.0], [30.0, 40.0], [0.5, 0.25]]> : tensor<3x2xf32>
  %r = "stablehlo.scatter"(%x, %rows, %u) ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %sum = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
                                                   scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false
  } : (tensor<3x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %r, dense<[[31.0, 42.0], [3.0, 4.0], [15.5, 26.25]]> : tensor<3x2xf32>
  func.return
}

// Later updates win; what was there before is not looked at.
func.func @replace() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %places = stablehlo.constant dense<[3, 0, 3]> : tensor<3xui8>
  %u = stablehlo.constant dense<[7, 8, 9]> : tensor<3xi64>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i64>, %new: tensor<i64>):
    stablehlo.return %new : tensor<i64>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<4xi64>, tensor<3xui8>, tensor<3xi64>) -> tensor<4xi64>
  check.expect_eq_const %r, dense<[8, 2, 3, 9]> : tensor<4xi64>
  func.return
}

// The order of the arguments matters: new - old, one update after the other.
func.func @not_commutative() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %places = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %u = stablehlo.constant dense<[10, 100]> : tensor<2xi8>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i8>, %new: tensor<i8>):
    %difference = stablehlo.subtract %new, %old : tensor<i8>
    stablehlo.return %difference : tensor<i8>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xi8>, tensor<2xi32>, tensor<2xi8>) -> tensor<2xi8>
  check.expect_eq_const %r, dense<[1, 92]> : tensor<2xi8>
  func.return
}

// Windows of 2 x 2 at (1, 1), which sticks out to the right, at (-1, 0), which sticks out above, and far away.
func.func @windows_partly_outside() {
  %x = stablehlo.constant dense<0> : tensor<3x2xi32>
  %places = stablehlo.constant dense<[[1, 1], [-1, 0], [5, 0], [0, -2]]> : tensor<4x2xi64>
  %u = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 9], [9, 9]], [[9, 9], [9, 9]]]> : tensor<4x2x2xi32>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %sum = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1],
                                                   index_vector_dim = 1>
  } : (tensor<3x2xi32>, tensor<4x2xi64>, tensor<4x2x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[7, 8], [0, 1], [0, 3]]> : tensor<3x2xi32>
  %copied = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    stablehlo.return %new : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1],
                                                   index_vector_dim = 1>
  } : (tensor<3x2xi32>, tensor<4x2xi64>, tensor<4x2x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %copied, dense<[[7, 8], [0, 1], [0, 3]]> : tensor<3x2xi32>
  func.return
}

func.func @extreme_indices() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %places = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1]> : tensor<3xi64>
  %u = stablehlo.constant dense<[[5, 5], [6, 6], [7, 8]]> : tensor<3x2xi32>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    stablehlo.return %new : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xi32>, tensor<3xi64>, tensor<3x2xi32>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[1, 7]> : tensor<2xi32>
  func.return
}

// The window dimension comes first in the updates, so that windows are columns of them.
func.func @window_first() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xui16>
  %rows = stablehlo.constant dense<[1, 1, 2]> : tensor<3xi32>
  %u = stablehlo.constant dense<[[2, 3, 4], [5, 6, 7]]> : tensor<2x3xui16>
  %r = "stablehlo.scatter"(%x, %rows, %u) ({
  ^bb0(%old: tensor<ui16>, %new: tensor<ui16>):
    %product = stablehlo.multiply %old, %new : tensor<ui16>
    stablehlo.return %product : tensor<ui16>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0],
                                                   scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<3x2xui16>, tensor<3xi32>, tensor<2x3xui16>) -> tensor<3x2xui16>
  check.expect_eq_const %r, dense<[[1, 2], [18, 120], [20, 42]]> : tensor<3x2xui16>
  func.return
}

// The input's dimension 0 goes along with dimension 1 of the indices.
func.func @batching_dims() {
  %x = stablehlo.constant dense<0> : tensor<2x3xi32>
  %places = stablehlo.constant dense<[[[0], [1]], [[2], [1]], [[9], [0]]]> : tensor<3x2x1xi32>
  %u = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %sum = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0],
                                                   scatter_indices_batching_dims = [1],
                                                   scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  } : (tensor<2x3xi32>, tensor<3x2x1xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[1, 0, 3], [6, 6, 0]]> : tensor<2x3xi32>
  func.return
}

// Several inputs of several types: the larger value wins, and its label with it.
func.func @several_inputs() {
  %values = stablehlo.constant dense<[1.5, 4.0, 2.0]> : tensor<3xf64>
  %labels = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi8>
  %places = stablehlo.constant dense<[[0], [1], [2], [0]]> : tensor<4x1xi64>
  %new_values = stablehlo.constant dense<[2.5, 3.0, 7.0, 2.0]> : tensor<4xf64>
  %new_labels = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi8>
  %r:2 = "stablehlo.scatter"(%values, %labels, %places, %new_values, %new_labels) ({
  ^bb0(%old: tensor<f64>, %old_label: tensor<i8>, %new: tensor<f64>, %new_label: tensor<i8>):
    %larger = stablehlo.compare GT, %new, %old : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %value = stablehlo.select %larger, %new, %old : tensor<i1>, tensor<f64>
    %label = stablehlo.select %larger, %new_label, %old_label : tensor<i1>, tensor<i8>
    stablehlo.return %value, %label : tensor<f64>, tensor<i8>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<3xf64>, tensor<3xi8>, tensor<4x1xi64>, tensor<4xf64>, tensor<4xi8>) -> (tensor<3xf64>, tensor<3xi8>)
  check.expect_eq_const %r#0, dense<[2.5, 4.0, 7.0]> : tensor<3xf64>
  check.expect_eq_const %r#1, dense<[10, 1, 12]> : tensor<3xi8>
  func.return
}

// Each result is the other one's input: neither may be overwritten before both were read.
func.func @exchange() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %at = stablehlo.constant dense<[0]> : tensor<1xi32>
  %u = stablehlo.constant dense<[[0, 0]]> : tensor<1x2xi32>
  %r:2 = "stablehlo.scatter"(%a, %b, %at, %u, %u) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    stablehlo.return %y, %x : tensor<i32>, tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %r#0, dense<[3, 4]> : tensor<2xi32>
  check.expect_eq_const %r#1, dense<[1, 2]> : tensor<2xi32>
  func.return
}

// A body that is no straight line of arithmetic, and looks at a value from outside.
func.func @branching_body() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %places = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi32>
  %u = stablehlo.constant dense<[5, -5, 6]> : tensor<3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %negative = stablehlo.compare LT, %new, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %value = "stablehlo.if"(%negative) ({
      stablehlo.return %zero : tensor<i32>
    }, {
      %sum = stablehlo.add %old, %new : tensor<i32>
      stablehlo.return %sum : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    stablehlo.return %value : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %r, dense<[6, 0, 9]> : tensor<3xi32>
  func.return
}

// The body computes in a wider type than the inputs have, and so are the results.
func.func @promoted() {
  %x = stablehlo.constant dense<[127, 1]> : tensor<2xi8>
  %places = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
  %u = stablehlo.constant dense<[127, 1]> : tensor<2xi8>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<i16>, %new: tensor<i16>):
    %sum = stablehlo.add %old, %new : tensor<i16>
    stablehlo.return %sum : tensor<i16>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xi8>, tensor<2xi32>, tensor<2xi8>) -> tensor<2xi16>
  check.expect_eq_const %r, dense<[255, 1]> : tensor<2xi16>
  func.return
}

func.func @complex_and_sub_byte() {
  %places = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %u = stablehlo.constant dense<[(0.0, 2.0)]> : tensor<1xcomplex<f32>>
  %r = "stablehlo.scatter"(%x, %places, %u) ({
  ^bb0(%old: tensor<complex<f32>>, %new: tensor<complex<f32>>):
    %product = stablehlo.multiply %old, %new : tensor<complex<f32>>
    stablehlo.return %product : tensor<complex<f32>>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xcomplex<f32>>, tensor<1xi32>, tensor<1xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, 2.0), (-8.0, 6.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[7, 7]> : tensor<2xi4>
  %v = stablehlo.constant dense<[3]> : tensor<1xi4>
  %s = "stablehlo.scatter"(%y, %places, %v) ({
  ^bb0(%old: tensor<i4>, %new: tensor<i4>):
    %sum = stablehlo.add %old, %new : tensor<i4>
    stablehlo.return %sum : tensor<i4>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xi4>, tensor<1xi32>, tensor<1xi4>) -> tensor<2xi4>
  check.expect_eq_const %s, dense<[7, -6]> : tensor<2xi4>
  func.return
}

// The inputs are needed afterwards, as are the updates.
func.func @inputs_stay() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x = stablehlo.add %a, %a : tensor<2xi32>
  %at = stablehlo.constant dense<[0]> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %at, %x) ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %sum = stablehlo.add %old, %new : tensor<i32>
    stablehlo.return %sum : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>
  } : (tensor<2xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[4, 8]> : tensor<2xi32>
  check.expect_eq_const %x, dense<[2, 4]> : tensor<2xi32>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %none = stablehlo.constant dense<> : tensor<0x1xi32>
  %no_updates = stablehlo.constant dense<> : tensor<0xf16>
  %r = "stablehlo.scatter"(%x, %none, %no_updates) ({
  ^bb0(%old: tensor<f16>, %new: tensor<f16>):
    stablehlo.return %new : tensor<f16>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<2xf16>, tensor<0x1xi32>, tensor<0xf16>) -> tensor<2xf16>
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf16>
  %empty = stablehlo.constant dense<> : tensor<0xf16>
  %at = stablehlo.constant dense<[[0]]> : tensor<1x1xi32>
  %u = stablehlo.constant dense<[5.0]> : tensor<1xf16>
  %s = "stablehlo.scatter"(%empty, %at, %u) ({
  ^bb0(%old: tensor<f16>, %new: tensor<f16>):
    stablehlo.return %new : tensor<f16>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                   index_vector_dim = 1>
  } : (tensor<0xf16>, tensor<1x1xi32>, tensor<1xf16>) -> tensor<0xf16>
  check.expect_eq_const %s, dense<> : tensor<0xf16>
  func.return
}
