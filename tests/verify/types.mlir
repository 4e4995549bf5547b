// Types that no value may have.

func.func @fine(%a: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %b: tensor<?x2x!quant.uniform<i8<-127:127>:bf16:1, {0.5:-127, 0.25:127}>>) {
  func.return
}

// -----

// expected-error@+1 {{[quantized_type_c12]}}
func.func @axis(%a: tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  func.return
}

// expected-error@+1 {{[quantized_type_c13]}}
func.func @scales(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  func.return
}

// expected-error@+1 {{[quantized_type_c13]}}
func.func @within(%a: tuple<tensor<f32>, tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>>) {
  func.return
}

func.func @results(%a: tensor<2xf32>) {
  // expected-error@+1 {{[quantized_type_c13] 'stablehlo.uniform_quantize' op type tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01}>> is not valid: the quantized dimension's size is not the number of scales}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5}>>
  func.return
}

func.func @arguments(%a: tensor<2xf32>, %b: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{[quantized_type_c12]}}
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^body(%x: tensor<f32>, %y: tensor<!quant.uniform<i8:f32:0, {0.5}>>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
