// torch_index_select: places along one dimension, for each of the leading batch dimensions; clamped as gather's.

func.func @rows_and_columns() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[1, 0, 1]> : tensor<3xi64>
  %rows = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64}
    : (tensor<2x3xi32>, tensor<3xi64>) -> tensor<3x3xi32>
  check.expect_eq_const %rows, dense<[[4, 5, 6], [1, 2, 3], [4, 5, 6]]> : tensor<3x3xi32>
  %columns = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64}
    : (tensor<2x3xi32>, tensor<3xi64>) -> tensor<2x3xi32>
  check.expect_eq_const %columns, dense<[[2, 1, 2], [5, 4, 5]]> : tensor<2x3xi32>
  func.return
}

// Batch dimension 0 is shared; dimension 2 becomes the two other dimensions of the index.
func.func @batch() {
  %x = stablehlo.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi16>
  %i = stablehlo.constant dense<[[[0], [2]], [[1], [1]]]> : tensor<2x2x1xi32>
  %r = "stablehlo.torch_index_select"(%x, %i) {dim = 2 : i64, batch_dims = 1 : i64}
    : (tensor<2x1x3xi16>, tensor<2x2x1xi32>) -> tensor<2x1x2x1xi16>
  check.expect_eq_const %r, dense<[[[[1], [3]]], [[[5], [5]]]]> : tensor<2x1x2x1xi16>
  func.return
}

func.func @clamped() {
  %x = stablehlo.constant dense<[1.5, 2.5]> : tensor<2xbf16>
  %i = stablehlo.constant dense<[-1, 9]> : tensor<2xi8>
  %r = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64}
    : (tensor<2xbf16>, tensor<2xi8>) -> tensor<2xbf16>
  check.expect_eq_const %r, dense<[1.5, 2.5]> : tensor<2xbf16>
  func.return
}

func.func @scalar_index_and_none() {
  %x = stablehlo.constant dense<[[(1.0, 2.0)], [(3.0, 4.0)]]> : tensor<2x1xcomplex<f32>>
  %i = stablehlo.constant dense<1> : tensor<ui32>
  %r = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64}
    : (tensor<2x1xcomplex<f32>>, tensor<ui32>) -> tensor<1xcomplex<f32>>
  check.expect_eq_const %r, dense<[(3.0, 4.0)]> : tensor<1xcomplex<f32>>
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %s = "stablehlo.torch_index_select"(%x, %none) {dim = 0 : i64, batch_dims = 0 : i64}
    : (tensor<2x1xcomplex<f32>>, tensor<0xi32>) -> tensor<0x1xcomplex<f32>>
  check.expect_eq_const %s, dense<> : tensor<0x1xcomplex<f32>>
  func.return
}
