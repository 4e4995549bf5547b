// real_dynamic_slice: slice with run-time starts, limits and strides.

func.func @strided() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
  %start = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %limit = stablehlo.constant dense<[2, 5]> : tensor<2xi32>
  %stride = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = stablehlo.real_dynamic_slice %x, %start, %limit, %stride
    : (tensor<2x5xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x3xi32>
  check.expect_eq_const %r, dense<[[5, 7, 9]]> : tensor<1x3xi32>
  func.return
}

func.func @unknown_result() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf16>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  %r = stablehlo.real_dynamic_slice %x, %one, %two, %one
    : (tensor<3xf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf16>
  %known = tensor.cast %r : tensor<?xf16> to tensor<1xf16>
  check.expect_eq_const %known, dense<[2.0]> : tensor<1xf16>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui64>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %r = stablehlo.real_dynamic_slice %x, %one, %one, %one
    : (tensor<3xui64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<0xui64>
  check.expect_eq_const %r, dense<> : tensor<0xui64>
  func.return
}
