// uniform_dequantize: (stored - zero point) * scale, rounded to the expressed type.

func.func @per_tensor() {
  %s = stablehlo.constant dense<[-128, 0, 127]> : tensor<3xi8>
  %q = stablehlo.bitcast_convert %s : (tensor<3xi8>) -> tensor<3x!quant.uniform<i8:f32, 0.5:127>>
  %x = stablehlo.uniform_dequantize %q : (tensor<3x!quant.uniform<i8:f32, 0.5:127>>) -> tensor<3xf32>
  check.expect_eq_const %x, dense<[-127.5, -63.5, 0.0]> : tensor<3xf32>
  func.return
}

func.func @unsigned_to_bf16() {
  %s = stablehlo.constant dense<[0, 255]> : tensor<2xui8>
  %q = stablehlo.bitcast_convert %s : (tensor<2xui8>) -> tensor<2x!quant.uniform<u8:bf16, 2.0:1>>
  %x = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<u8:bf16, 2.0:1>>) -> tensor<2xbf16>
  check.expect_eq_const %x, dense<[-2.0, 508.0]> : tensor<2xbf16>
  func.return
}

// Arithmetic on quantised numbers is arithmetic on what they stand for.
func.func @arithmetic() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %qa = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.25:-30>>
  %qb = stablehlo.uniform_quantize %b : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
  %qc = stablehlo.add %qa, %qb
    : (tensor<2x!quant.uniform<i8:f32, 0.25:-30>>, tensor<2x!quant.uniform<i8:f32, 0.5:-20>>)
    -> tensor<2x!quant.uniform<i8:f32, 0.125:0>>
  %c = stablehlo.uniform_dequantize %qc : (tensor<2x!quant.uniform<i8:f32, 0.125:0>>) -> tensor<2xf32>
  check.expect_eq_const %c, dense<[4.0, 6.0]> : tensor<2xf32>
  func.return
}

// Weights alone quantised: the other operand and the result are plain numbers.
func.func @hybrid() {
  %x = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w = stablehlo.constant dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>
  %q = stablehlo.bitcast_convert %w : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %r = stablehlo.dot_general %x, %q, contracting_dims = [1] x [0]
    : (tensor<1x2xf32>, tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<1x2xf32>
  check.expect_eq_const %r, dense<[[7.0, 5.0]]> : tensor<1x2xf32>
  func.return
}
