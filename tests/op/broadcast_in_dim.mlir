// broadcast_in_dim: operand dimension i becomes result dimension dims[i], repeated where its size is 1.

func.func @row_and_column() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %row = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %row, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>
  %column = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %column, dense<[[1, 1], [2, 2], [3, 3]]> : tensor<3x2xi32>
  func.return
}

func.func @size_one_repeats() {
  %x = stablehlo.constant dense<[[1.5], [2.5]]> : tensor<2x1xbf16>
  %r = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x1xbf16>) -> tensor<2x2x3xbf16>
  check.expect_eq_const %r, dense<[[[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]], [[2.5, 2.5, 2.5], [2.5, 2.5, 2.5]]]>
    : tensor<2x2x3xbf16>
  func.return
}

// Dimensions need not keep their order.
func.func @permuted() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>
  %r = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x3xui8>) -> tensor<3x2x2xui8>
  check.expect_eq_const %r, dense<[[[1, 4], [1, 4]], [[2, 5], [2, 5]], [[3, 6], [3, 6]]]> : tensor<3x2x2xui8>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<-3> : tensor<i4>
  %r = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i4>) -> tensor<2x2xi4>
  check.expect_eq_const %r, dense<-3> : tensor<2x2xi4>
  func.return
}

func.func @complex() {
  %x = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 4.0)]]> : tensor<1x2xcomplex<f32>>
  %r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %r, dense<[[(1.0, 2.0), (3.0, 4.0)], [(1.0, 2.0), (3.0, 4.0)]]> : tensor<2x2xcomplex<f32>>
  func.return
}

func.func @to_and_from_nothing() {
  %one = stablehlo.constant dense<[4.0]> : tensor<1xf64>
  %none = stablehlo.broadcast_in_dim %one, dims = [0] : (tensor<1xf64>) -> tensor<0x3xf64>
  check.expect_eq_const %none, dense<> : tensor<0x3xf64>
  %still_none = stablehlo.broadcast_in_dim %none, dims = [1, 2] : (tensor<0x3xf64>) -> tensor<2x0x3xf64>
  check.expect_eq_const %still_none, dense<> : tensor<2x0x3xf64>
  func.return
}

func.func @unknown_size() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %open = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  %r = stablehlo.broadcast_in_dim %open, dims = [1] : (tensor<?xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>
  func.return
}

func.func @bounded() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %size = stablehlo.constant dense<2> : tensor<i32>
  %part = stablehlo.set_dimension_size %x, %size, dim = 0 : (tensor<3xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<3>>
  %r = stablehlo.broadcast_in_dim %part, dims = [1] : (tensor<?xi32, #stablehlo.bounds<3>>) -> tensor<2x?xi32, #stablehlo.bounds<?, 3>>
  %s = tensor.cast %r : tensor<2x?xi32, #stablehlo.bounds<?, 3>> to tensor<2x2xi32>
  check.expect_eq_const %s, dense<[[1, 2], [1, 2]]> : tensor<2x2xi32>
  func.return
}
