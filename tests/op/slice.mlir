// slice: static starts, limits and strides.

func.func @rows_and_columns() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi64>
  %r = stablehlo.slice %x [1:3, 1:2] : (tensor<3x4xi64>) -> tensor<2x1xi64>
  check.expect_eq_const %r, dense<[[5], [9]]> : tensor<2x1xi64>
  func.return
}

func.func @strided() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xui8>
  %r = stablehlo.slice %x [0:3:2, 1:4:2] : (tensor<3x4xui8>) -> tensor<2x2xui8>
  check.expect_eq_const %r, dense<[[1, 3], [9, 11]]> : tensor<2x2xui8>
  func.return
}

// A stride beyond the limit takes the first element alone, however large it is.
func.func @huge_stride() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %r = stablehlo.slice %x [1:3:9223372036854775807] : (tensor<3xf32>) -> tensor<1xf32>
  check.expect_eq_const %r, dense<[2.0]> : tensor<1xf32>
  func.return
}

func.func @nothing_and_everything() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %none = stablehlo.slice %x [2:2] : (tensor<2xcomplex<f32>>) -> tensor<0xcomplex<f32>>
  check.expect_eq_const %none, dense<> : tensor<0xcomplex<f32>>
  %still_none = stablehlo.slice %none [0:0] : (tensor<0xcomplex<f32>>) -> tensor<0xcomplex<f32>>
  check.expect_eq_const %still_none, dense<> : tensor<0xcomplex<f32>>
  %all = stablehlo.slice %x [0:2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %all, dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  func.return
}

func.func @sub_byte() {
  %x = stablehlo.constant dense<[-8, -1, 0, 7]> : tensor<4xi4>
  %r = stablehlo.slice %x [0:4:3] : (tensor<4xi4>) -> tensor<2xi4>
  check.expect_eq_const %r, dense<[-8, 7]> : tensor<2xi4>
  func.return
}

// -----

func.func @limit_beyond_size() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  // expected-error@+1 {{[slice_c3]}}
  %r = stablehlo.slice %x [1:4] : (tensor<3xi32>) -> tensor<3xi32>
  func.return
}
