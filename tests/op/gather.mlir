// gather: slices of the operand at the places that index vectors name, clamped so that a slice lies within.

// Row numbers 2, 0, 2 of a table.
func.func @rows() {
  %table = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
  %r = "stablehlo.gather"(%table, %rows) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>, indices_are_sorted = false
  } : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  check.expect_eq_const %r, dense<[[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]> : tensor<3x2xf32>
  func.return
}

// Columns, so that the offset dimension comes first in the result.
func.func @columns() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %columns = stablehlo.constant dense<[[2], [1]]> : tensor<2x1xi64>
  %r = "stablehlo.gather"(%x, %columns) {
    dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 1>
  } : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %r, dense<[[3, 2], [6, 5]]> : tensor<2x2xi64>
  func.return
}

// Single elements; index vectors lie along the first dimension, and name the dimensions in the other order.
func.func @elements() {
  %x = stablehlo.constant dense<[[0, 1, 2], [10, 11, 12]]> : tensor<2x3xui8>
  %places = stablehlo.constant dense<[[2, 0, 1], [1, 0, 0]]> : tensor<2x3xi16>
  %r = "stablehlo.gather"(%x, %places) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0>,
    slice_sizes = array<i64: 1, 1>
  } : (tensor<2x3xui8>, tensor<2x3xi16>) -> tensor<3xui8>
  check.expect_eq_const %r, dense<[12, 0, 1]> : tensor<3xui8>
  func.return
}

// The second index is clamped from 2 to 1 since slices have size 2, the third from -4 to 0.
func.func @clamped() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi8>
  %starts = stablehlo.constant dense<[0, 2, -4]> : tensor<3xi64>
  %r = "stablehlo.gather"(%x, %starts) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2>
  } : (tensor<3xi8>, tensor<3xi64>) -> tensor<3x2xi8>
  check.expect_eq_const %r, dense<[[1, 2], [2, 3], [1, 2]]> : tensor<3x2xi8>
  func.return
}

// Unsigned indices are large, never negative.
func.func @unsigned_indices() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi8>
  %i8 = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %r8 = "stablehlo.gather"(%x, %i8) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<3xi8>, tensor<2xui8>) -> tensor<2xi8>
  check.expect_eq_const %r8, dense<[2, 3]> : tensor<2xi8>
  %i64 = stablehlo.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %r64 = "stablehlo.gather"(%x, %i64) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<3xi8>, tensor<2xui64>) -> tensor<2xi8>
  check.expect_eq_const %r64, dense<[3, 1]> : tensor<2xi8>
  func.return
}

// One window from the middle of a batch: the operand's dimension 0 goes along with dimension 1 of the indices.
func.func @batching_dims() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %starts = stablehlo.constant dense<[[[0], [1]], [[1], [0]], [[9], [-9]]]> : tensor<3x2x1xi32>
  %r = "stablehlo.gather"(%x, %starts) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], operand_batching_dims = [0],
                                          start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<2x3xi32>, tensor<3x2x1xi32>) -> tensor<3x2x2xi32>
  check.expect_eq_const %r, dense<[[[1, 2], [5, 6]], [[2, 3], [4, 5]], [[2, 3], [4, 5]]]> : tensor<3x2x2xi32>
  func.return
}

// Offset dimensions around the batch dimension.
func.func @offset_dims_apart() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]> : tensor<3x2x2xi32>
  %i = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [0], start_index_map = [0],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2, 2>
  } : (tensor<3x2x2xi32>, tensor<2xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %r, dense<[[[9, 10], [5, 6]], [[11, 12], [7, 8]]]> : tensor<2x2x2xi32>
  func.return
}

// One slice, by a vector without batch dimensions; and one without any index.
func.func @no_batch() {
  %x = stablehlo.constant dense<[[(1.0, 0.0), (2.0, 0.0)], [(3.0, 0.0), (4.0, 1.0)]]> : tensor<2x2xcomplex<f64>>
  %at = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  %r = "stablehlo.gather"(%x, %at) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1]>,
    slice_sizes = array<i64: 1, 1>
  } : (tensor<2x2xcomplex<f64>>, tensor<2xi64>) -> tensor<complex<f64>>
  check.expect_eq_const %r, dense<(4.0, 1.0)> : tensor<complex<f64>>
  %none = stablehlo.constant dense<> : tensor<0xi64>
  %s = "stablehlo.gather"(%x, %none) {
    dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0]>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<2x2xcomplex<f64>>, tensor<0xi64>) -> tensor<2xcomplex<f64>>
  check.expect_eq_const %s, dense<[(1.0, 0.0), (2.0, 0.0)]> : tensor<2xcomplex<f64>>
  func.return
}

func.func @sub_byte() {
  %x = stablehlo.constant dense<[[-8, -1], [7, 3]]> : tensor<2x2xi4>
  %i = stablehlo.constant dense<[1, 0]> : tensor<2xui2>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<2x2xi4>, tensor<2xui2>) -> tensor<2x2xi4>
  check.expect_eq_const %r, dense<[[7, 3], [-8, -1]]> : tensor<2x2xi4>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %no_indices = stablehlo.constant dense<> : tensor<0xi32>
  %r = "stablehlo.gather"(%x, %no_indices) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  } : (tensor<2xf16>, tensor<0xi32>) -> tensor<0x1xf16>
  check.expect_eq_const %r, dense<> : tensor<0x1xf16>
  %i = stablehlo.constant dense<[5, 1]> : tensor<2xi32>
  %s = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 0>
  } : (tensor<2xf16>, tensor<2xi32>) -> tensor<2x0xf16>
  check.expect_eq_const %s, dense<> : tensor<2x0xf16>
  func.return
}

// -----

func.func @slice_too_large() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %i = stablehlo.constant dense<[0]> : tensor<1xi32>
  // expected-error@+1 {{[gather_c21]}}
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 3>
  } : (tensor<2xi32>, tensor<1xi32>) -> tensor<1x3xi32>
  func.return
}
