// uniform_quantize: per tensor, per axis, per block; from numbers and from other quantised numbers.

!qt = tensor<4x!quant.uniform<i8:f32, 0.5:-20>>
!qa = tensor<2x2x!quant.uniform<i8:f32:1, {0.1:-30, 0.5:-20}>>

// Ties go to the even neighbour, what is too large to the bound.
func.func @per_tensor() {
  %x = stablehlo.constant dense<[0.25, 0.75, 1000.0, -1000.0]> : tensor<4xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> !qt
  %s = stablehlo.bitcast_convert %q : (!qt) -> tensor<4xi8>
  check.expect_eq_const %s, dense<[-20, -18, 127, -128]> : tensor<4xi8>
  func.return
}

func.func @per_axis() {
  %x = stablehlo.constant dense<[[4.0, 15.0], [0.0, -1.0]]> : tensor<2x2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> !qa
  %s = stablehlo.bitcast_convert %q : (!qa) -> tensor<2x2xi8>
  check.expect_eq_const %s, dense<[[10, 10], [-30, -22]]> : tensor<2x2xi8>
  func.return
}

func.func @again() {
  %s = stablehlo.constant dense<[-20, -18, 0, 10]> : tensor<4xi8>
  %q = stablehlo.bitcast_convert %s : (tensor<4xi8>) -> !qt
  %r = stablehlo.uniform_quantize %q : (!qt) -> tensor<4x!quant.uniform<i16:f32, 0.25:3>>
  %t = stablehlo.bitcast_convert %r : (tensor<4x!quant.uniform<i16:f32, 0.25:3>>) -> tensor<4xi16>
  check.expect_eq_const %t, dense<[3, 7, 43, 63]> : tensor<4xi16>
  func.return
}
