// dynamic_update_slice: the operand with a slice at run-time indices replaced; clamped so that it lies within.

func.func @inside() {
  %x = stablehlo.constant dense<0> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %r = stablehlo.dynamic_update_slice %x, %u, %one, %two
    : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i64>, tensor<i64>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 3, 4]]> : tensor<3x4xi32>
  func.return
}

func.func @clamped_both_ways() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>
  %u = stablehlo.constant dense<[[9.0, 8.0]]> : tensor<1x2xf16>
  %below = stablehlo.constant dense<-1> : tensor<i32>
  %above = stablehlo.constant dense<7> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %below, %above
    : (tensor<2x3xf16>, tensor<1x2xf16>, tensor<i32>, tensor<i32>) -> tensor<2x3xf16>
  check.expect_eq_const %r, dense<[[1.0, 9.0, 8.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>
  func.return
}

// The operand is needed afterwards: the update must not be seen in it.
func.func @operand_stays() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %x = stablehlo.add %a, %a : tensor<3xi64>
  %u = stablehlo.constant dense<[0]> : tensor<1xi64>
  %i = stablehlo.constant dense<1> : tensor<ui32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xi64>, tensor<1xi64>, tensor<ui32>) -> tensor<3xi64>
  check.expect_eq_const %r, dense<[2, 0, 6]> : tensor<3xi64>
  check.expect_eq_const %x, dense<[2, 4, 6]> : tensor<3xi64>
  func.return
}

func.func @operand_is_update() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %x = stablehlo.add %a, %a : tensor<3xi64>
  %i = stablehlo.constant dense<2> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %x, %i : (tensor<3xi64>, tensor<3xi64>, tensor<i32>) -> tensor<3xi64>
  check.expect_eq_const %r, dense<[2, 4, 6]> : tensor<3xi64>
  func.return
}

func.func @chain() {
  %zero = stablehlo.constant dense<0> : tensor<4xui8>
  %x = stablehlo.add %zero, %zero : tensor<4xui8>
  %u = stablehlo.constant dense<[5, 6]> : tensor<2xui8>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %j = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xui8>, tensor<2xui8>, tensor<i32>) -> tensor<4xui8>
  %r = stablehlo.dynamic_update_slice %y, %u, %j : (tensor<4xui8>, tensor<2xui8>, tensor<i32>) -> tensor<4xui8>
  check.expect_eq_const %r, dense<[5, 5, 6, 0]> : tensor<4xui8>
  func.return
}

func.func @empty_update() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %u = stablehlo.constant dense<> : tensor<0xcomplex<f32>>
  %i = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i
    : (tensor<1xcomplex<f32>>, tensor<0xcomplex<f32>>, tensor<i32>) -> tensor<1xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<-2> : tensor<i2>
  %u = stablehlo.constant dense<1> : tensor<i2>
  %r = stablehlo.dynamic_update_slice %x, %u : (tensor<i2>, tensor<i2>) -> tensor<i2>
  check.expect_eq_const %r, dense<1> : tensor<i2>
  func.return
}

// -----
// An update of nothing, between dimensions of something.
func.func @main() {
  %a = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %x = stablehlo.reshape %a : (tensor<2x4xi32>) -> tensor<2x2x2xi32>
  %n = stablehlo.constant dense<> : tensor<0xi32>
  %u = stablehlo.reshape %n : (tensor<0xi32>) -> tensor<2x0x2xi32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i, %i : (tensor<2x2x2xi32>, tensor<2x0x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %0, dense<[[[0, 1], [2, 3]], [[0, 1], [2, 3]]]> : tensor<2x2x2xi32>
  return
}
