// reshape: the same elements in row-major order under other dimensions.

func.func @split_and_merge() {
  %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>
  %r = stablehlo.reshape %x : (tensor<2x4xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %r, dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %s = stablehlo.reshape %r : (tensor<2x2x2xi32>) -> tensor<8xi32>
  check.expect_eq_const %s, dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<(1.5, -1.0)> : tensor<complex<f32>>
  %r = stablehlo.reshape %x : (tensor<complex<f32>>) -> tensor<1x1xcomplex<f32>>
  check.expect_eq_const %r, dense<(1.5, -1.0)> : tensor<1x1xcomplex<f32>>
  %s = stablehlo.reshape %r : (tensor<1x1xcomplex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %s, dense<(1.5, -1.0)> : tensor<complex<f32>>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<3x0xf8E4M3FN>
  %r = stablehlo.reshape %x : (tensor<3x0xf8E4M3FN>) -> tensor<0x7x2xf8E4M3FN>
  check.expect_eq_const %r, dense<> : tensor<0x7x2xf8E4M3FN>
  func.return
}

func.func @sub_byte() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 2, 1]]> : tensor<2x3xui2>
  %r = stablehlo.reshape %x : (tensor<2x3xui2>) -> tensor<3x2xui2>
  check.expect_eq_const %r, dense<[[0, 1], [2, 3], [2, 1]]> : tensor<3x2xui2>
  func.return
}

func.func @unknown_size() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
  %open = tensor.cast %x : tensor<4xf64> to tensor<?xf64>
  %r = stablehlo.reshape %open : (tensor<?xf64>) -> tensor<2x2xf64>
  check.expect_eq_const %r, dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
  func.return
}
