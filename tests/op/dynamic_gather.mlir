// dynamic_gather: gather with run-time slice sizes.

func.func @rows() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %starts = stablehlo.constant dense<[[0, 1], [5, 5]]> : tensor<2x2xi64>
  %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = "stablehlo.dynamic_gather"(%x, %starts, %sizes) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1],
                                          index_vector_dim = 1>,
    indices_are_sorted = false
  } : (tensor<3x3xi32>, tensor<2x2xi64>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[2, 3], [8, 9]]> : tensor<2x2xi32>
  func.return
}

func.func @unknown_result() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %starts = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  %r = "stablehlo.dynamic_gather"(%x, %starts, %two) {
    dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0], index_vector_dim = 1>
  } : (tensor<3xf64>, tensor<2x1xi32>, tensor<1xi64>) -> tensor<?x2xf64>
  %known = tensor.cast %r : tensor<?x2xf64> to tensor<2x2xf64>
  check.expect_eq_const %known, dense<[[1.0, 2.0], [2.0, 3.0]]> : tensor<2x2xf64>
  func.return
}
