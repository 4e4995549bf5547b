// clamp: min(max(x, low), high); where low is above high, high wins.

// Bounds element by element.
func.func @elements() {
  %low = stablehlo.constant dense<[0, -5, 3, 9]> : tensor<4xi32>
  %x = stablehlo.constant dense<[-1, -5, 10, 5]> : tensor<4xi32>
  %high = stablehlo.constant dense<[5, 5, 8, 1]> : tensor<4xi32>
  %r = stablehlo.clamp %low, %x, %high : tensor<4xi32>
  check.expect_eq_const %r, dense<[0, -5, 8, 1]> : tensor<4xi32>
  func.return
}

// -----

// Scalar bounds, both or one of them.
func.func @scalar_bounds() {
  %low = stablehlo.constant dense<2> : tensor<ui4>
  %high = stablehlo.constant dense<9> : tensor<ui4>
  %x = stablehlo.constant dense<[[0, 5], [15, 9]]> : tensor<2x2xui4>
  %r = stablehlo.clamp %low, %x, %high : (tensor<ui4>, tensor<2x2xui4>, tensor<ui4>) -> tensor<2x2xui4>
  check.expect_eq_const %r, dense<[[2, 5], [9, 9]]> : tensor<2x2xui4>
  %highs = stablehlo.constant dense<[[1, 4], [3, 15]]> : tensor<2x2xui4>
  %s = stablehlo.clamp %low, %x, %highs : (tensor<ui4>, tensor<2x2xui4>, tensor<2x2xui4>) -> tensor<2x2xui4>
  check.expect_eq_const %s, dense<[[1, 4], [3, 9]]> : tensor<2x2xui4>
  func.return
}

// -----

// NaN in any of the three is passed on.
func.func @floats() {
  %low = stablehlo.constant dense<[-1.0, -1.0, 0x7FC00000, -1.0, 0xFF800000]> : tensor<5xf32>
  %x = stablehlo.constant dense<[2.5, 0x7FC00000, 0.0, 0.5, -3.0]> : tensor<5xf32>
  %high = stablehlo.constant dense<[1.0, 1.0, 1.0, 0x7FC00000, 0x7F800000]> : tensor<5xf32>
  %r = stablehlo.clamp %low, %x, %high : tensor<5xf32>
  check.expect_almost_eq_const %r, dense<[1.0, 0x7FC00000, 0x7FC00000, 0x7FC00000, -3.0]> : tensor<5xf32>, tolerance = 0.0
  %a = stablehlo.constant dense<-2.0> : tensor<f8E5M2>
  %b = stablehlo.constant dense<2.0> : tensor<f8E5M2>
  %y = stablehlo.constant dense<[-3.0, 1.5, 0x7C]> : tensor<3xf8E5M2>
  %s = stablehlo.clamp %a, %y, %b : (tensor<f8E5M2>, tensor<3xf8E5M2>, tensor<f8E5M2>) -> tensor<3xf8E5M2>
  check.expect_eq_const %s, dense<[-2.0, 1.5, 2.0]> : tensor<3xf8E5M2>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %low = stablehlo.constant dense<0> : tensor<i8>
  %high = stablehlo.constant dense<100> : tensor<i8>
  %x = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
  %a = tensor.cast %x : tensor<2xi8> to tensor<?xi8>
  %b = stablehlo.clamp %low, %a, %high : (tensor<i8>, tensor<?xi8>, tensor<i8>) -> tensor<?xi8>
  %r = tensor.cast %b : tensor<?xi8> to tensor<2xi8>
  check.expect_eq_const %r, dense<[0, 100]> : tensor<2xi8>
  %none = stablehlo.constant dense<> : tensor<0xi8>
  %n = stablehlo.clamp %low, %none, %high : (tensor<i8>, tensor<0xi8>, tensor<i8>) -> tensor<0xi8>
  check.expect_eq_const %n, dense<> : tensor<0xi8>
  %s = stablehlo.clamp %low, %high, %low : tensor<i8>
  check.expect_eq_const %s, dense<0> : tensor<i8>
  func.return
}
