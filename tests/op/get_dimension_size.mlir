// Also: set_dimension_size
//
// get_dimension_size, set_dimension_size: sizes as values.

func.func @known() {
  %x = stablehlo.constant dense<0.0> : tensor<2x0x3xf32>
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x0x3xf32>) -> tensor<i32>
  check.expect_eq_const %0, dense<2> : tensor<i32>
  %1 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x0x3xf32>) -> tensor<i32>
  check.expect_eq_const %1, dense<0> : tensor<i32>
  func.return
}

func.func @unknown() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<6xi64>, tensor<2xi64>) -> tensor<?x?xi64>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x?xi64>) -> tensor<i32>
  check.expect_eq_const %1, dense<3> : tensor<i32>
  func.return
}

// What is set is what is there.
func.func @set() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.set_dimension_size %x, %two, dim = 1
    : (tensor<2x3xi64>, tensor<i32>) -> tensor<2x?xi64, #stablehlo.bounds<?, 3>>
  %1 = stablehlo.get_dimension_size %0, dim = 1 : (tensor<2x?xi64, #stablehlo.bounds<?, 3>>) -> tensor<i32>
  check.expect_eq_const %1, dense<2> : tensor<i32>
  func.return
}
