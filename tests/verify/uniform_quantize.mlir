!q = !quant.uniform<i8:f32, 0.5:1>

func.func @quantize(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!q>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x!q>) -> tensor<2x!quant.uniform<u8:f32, 0.25>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x!quant.uniform<u8:f32, 0.25>>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// -----

!q = !quant.uniform<i8:f32, 0.5:1>

func.func @shapes(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[uniform_quantize_c1]}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<3x!q>
  // expected-error@+1 {{[uniform_dequantize_c1]}}
  %1 = stablehlo.uniform_dequantize %0 : (tensor<3x!q>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}

func.func @expressed(%a: tensor<2xf64>) -> tensor<2xf64> {
  // expected-error@+1 {{[uniform_quantize_c2] 'stablehlo.uniform_quantize' op the result must express f64, but expresses f32}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf64>) -> tensor<2x!q>
  // expected-error@+1 {{[uniform_quantize_c2] 'stablehlo.uniform_quantize' op the result must express f32, but expresses f64}}
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x!q>) -> tensor<2x!quant.uniform<i8:f64, 0.5>>
  // expected-error@+1 {{[uniform_dequantize_c2]}}
  %2 = stablehlo.uniform_dequantize %0 : (tensor<2x!q>) -> tensor<2xf64>
  func.return %2 : tensor<2xf64>
}
