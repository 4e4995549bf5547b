// Types that no value may have.

func.func @fine(%a: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %b: tensor<?x2x!quant.uniform<i8<-127:127>:bf16:1, {0.5:-127, 0.25:127}>>) {
  %0 = stablehlo.abs %a : tensor<?x3xf32, #stablehlo.bounds<4, ?>>
  %1 = stablehlo.uniform_dequantize %b : (tensor<?x2x!quant.uniform<i8<-127:127>:bf16:1, {0.5:-127, 0.25:127}>>) -> tensor<?x2xbf16>
  func.return
}

// -----

func.func @operands(%a: tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>, %b: tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %c: tensor<?xf32, #stablehlo.bounds<-4>>) {
  // expected-error@+1 {{[quantized_type_c12] 'stablehlo.uniform_dequantize' op type tensor<2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> is not valid: there is no such quantized dimension}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2xf32>
  // expected-error@+1 {{[quantized_type_c13] 'stablehlo.uniform_dequantize' op type tensor<3x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>> is not valid: the quantized dimension's size is not the number of scales}}
  %1 = stablehlo.uniform_dequantize %b : (tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3xf32>
  // expected-error@+1 {{type tensor<?xf32, #stablehlo.bounds<-4>> is not valid: a bound is negative}}
  %2 = stablehlo.abs %c : tensor<?xf32, #stablehlo.bounds<-4>>
  func.return
}

func.func @storage(%a: tensor<2x!quant.uniform<si8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i8:f32, 1.0:128>>) {
  // expected-error@+1 {{the storage type must be signless, i8 instead of si8}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<si8:f32, 1.0>>) -> tensor<2xf32>
  // expected-error@+1 {{[quantized_type_c7]}}
  %1 = stablehlo.add %b, %b : tensor<2x!quant.uniform<i8:f32, 1.0:128>>
  func.return
}

func.func @results(%a: tensor<2xf32>) {
  // expected-error@+1 {{[quantized_type_c13]}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5}>>
  func.return
}

func.func @members(%a: tuple<tensor<f32>, tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>>) {
  // expected-error@+1 {{[quantized_type_c13]}}
  %0 = stablehlo.get_tuple_element %a[0] : (tuple<tensor<f32>, tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>>) -> tensor<f32>
  func.return
}

// -----

// A tensor of rank 0 has no dimension to bound; what passes through may have any type.
func.func @no_bounds(%a: tensor<f32, #stablehlo.bounds<>>, %b: tensor<!quant.uniform<si8:f32, 1.0:200>>) -> tensor<f32, #stablehlo.bounds<>> {
  func.return %a : tensor<f32, #stablehlo.bounds<>>
}

// -----

// expected-error@+1 {{0 bounds for a tensor of rank 1}}
func.func @too_few_bounds(%a: tensor<?xf32, #stablehlo.bounds<>>) {
  func.return
}

// -----

// expected-error@+1 {{an unranked tensor cannot have an encoding}}
func.func @unranked_bounds(%a: tensor<*xf32, #stablehlo.bounds<>>) {
  func.return
}
