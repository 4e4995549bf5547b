// Ops whose operands and results have one type, and what may differ in it.

func.func @dynamic(%a: tensor<?x3xf32>, %b: tensor<2x?xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.multiply %a, %b : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @quantized(%a: tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
  %0 = stablehlo.tanh %a : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.25>>
}

func.func @bounded(%a: tensor<?xf32, #stablehlo.bounds<4>>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.maximum %a, %b : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

func.func @unranked(%a: tensor<*xf32>) -> tensor<2xf32> {
  %0 = chlo.erf %a : tensor<*xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @sizes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[multiply_c1] 'stablehlo.multiply' op operands and results must have compatible types, but have tensor<2xf32> and tensor<3xf32>}}
  %0 = stablehlo.multiply %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @ranks(%a: tensor<2xf32>) -> tensor<2x1xf32> {
  // expected-error@+1 {{[cosine_c1]}}
  %0 = stablehlo.cosine %a : (tensor<2xf32>) -> tensor<2x1xf32>
  func.return %0 : tensor<2x1xf32>
}

func.func @elements(%a: tensor<2xi32>) -> tensor<2xi64> {
  // expected-error@+1 {{[negate_c1]}}
  %0 = stablehlo.negate %a : (tensor<2xi32>) -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

func.func @storage(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
  // expected-error@+1 {{[logistic_c1]}}
  %0 = stablehlo.logistic %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<2x!quant.uniform<u8:f32, 0.5>>
}

func.func @bound(%a: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32> {
  // expected-error@+1 {{[sine_c1]}}
  %0 = stablehlo.sine %a : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

func.func @no_label_without_a_specification(%a: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'chlo.erf' op operands and results must have compatible types}}
  %0 = chlo.erf %a : tensor<2xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
