// ragged_dot: rows in groups of run-time sizes; every group has a matrix of its own.

// The first two rows by one matrix, the third by another; the group between them has no rows.
func.func @rows() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %w = stablehlo.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]],
                                 [[0.0, 2.0], [-1.0, 0.0]]]> : tensor<3x2x2xf32>
  %sizes = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi64>
  %r = "chlo.ragged_dot"(%x, %w, %sizes) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<
      lhs_batching_dimensions = [], rhs_batching_dimensions = [],
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
      lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
  } : (tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  check.expect_eq_const %r, dense<[[1.0, 2.0], [3.0, 4.0], [-6.0, 10.0]]> : tensor<3x2xf32>
  func.return
}

// -----

// Groups along the summed dimension: one product for each of them.
func.func @contracted() {
  %x = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  %w = stablehlo.constant dense<[[1, 10], [2, 20], [3, 30]]> : tensor<3x2xi32>
  %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %r = "chlo.ragged_dot"(%x, %w, %sizes) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<
      lhs_batching_dimensions = [], rhs_batching_dimensions = [],
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0],
      lhs_ragged_dimensions = [1], rhs_group_dimensions = []>
  } : (tensor<1x3xi32>, tensor<3x2xi32>, tensor<2xi64>) -> tensor<2x1x2xi32>
  check.expect_eq_const %r, dense<[[[1, 10]], [[13, 130]]]> : tensor<2x1x2xi32>
  func.return
}
