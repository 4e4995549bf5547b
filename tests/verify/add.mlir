func.func @numbers(%a: tensor<?xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : (tensor<?xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @per_axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>> {
  %0 = stablehlo.add %a, %b : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  func.return %0 : tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
}

// -----

!q = !quant.uniform<i8:f32, 0.5>
!u = !quant.uniform<u8:f32, 0.5>
!d = !quant.uniform<i8:bf16, 0.5>
!x0 = !quant.uniform<i8:f32:0, {0.5, 0.25}>
!x1 = !quant.uniform<i8:f32:1, {0.5, 0.25}>

func.func @elements(%a: tensor<2xf32>, %b: tensor<2xf64>) -> tensor<2xf32> {
  // expected-error@+1 {{[add_c1] 'stablehlo.add' op operands and result must have one element type, but have f32, f64 and f32}}
  %0 = stablehlo.add %a, %b : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[add_c1] 'stablehlo.add' op operands and results must have one shape}}
  %0 = stablehlo.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @bound(%a: tensor<?xf32, #stablehlo.bounds<2>>) -> tensor<3xf32> {
  // expected-error@+1 {{[add_c1] 'stablehlo.add' op result 0 has the inferred type}}
  %0 = stablehlo.add %a, %a : (tensor<?xf32, #stablehlo.bounds<2>>, tensor<?xf32, #stablehlo.bounds<2>>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

func.func @quantized(%a: tensor<2x!q>, %b: tensor<2xf32>) -> tensor<2x!q> {
  // expected-error@+1 {{[add_c2] 'stablehlo.add' op operands and result must all be quantized, or none}}
  %0 = stablehlo.add %a, %b : (tensor<2x!q>, tensor<2xf32>) -> tensor<2x!q>
  func.return %0 : tensor<2x!q>
}

func.func @storage(%a: tensor<2x!q>, %b: tensor<2x!u>) -> tensor<2x!q> {
  // expected-error@+1 {{[add_c3]}}
  %0 = stablehlo.add %a, %b : (tensor<2x!q>, tensor<2x!u>) -> tensor<2x!q>
  func.return %0 : tensor<2x!q>
}

func.func @expressed(%a: tensor<2x!d>, %b: tensor<2x!q>) -> tensor<2x!q> {
  // expected-error@+1 {{[add_c4]}}
  %0 = stablehlo.add %a, %b : (tensor<2x!d>, tensor<2x!q>) -> tensor<2x!q>
  func.return %0 : tensor<2x!q>
}

func.func @granularity(%a: tensor<2x!x0>, %b: tensor<2x!q>) -> (tensor<2x!q>, tensor<2x!x0>) {
  // expected-error@+1 {{[add_c5] 'stablehlo.add' op the result must be quantized per axis, as lhs is}}
  %0 = stablehlo.add %a, %b : (tensor<2x!x0>, tensor<2x!q>) -> tensor<2x!q>
  // expected-error@+1 {{[add_c5] 'stablehlo.add' op the result is quantized per axis, but no operand is}}
  %1 = stablehlo.add %b, %b : (tensor<2x!q>, tensor<2x!q>) -> tensor<2x!x0>
  func.return %0, %1 : tensor<2x!q>, tensor<2x!x0>
}

func.func @axes(%a: tensor<2x2x!x0>, %b: tensor<2x2x!x1>) -> (tensor<2x2x!x1>, tensor<2x2x!x0>) {
  // expected-error@+1 {{[add_c6]}}
  %0 = stablehlo.add %a, %b : (tensor<2x2x!x0>, tensor<2x2x!x1>) -> tensor<2x2x!x1>
  // expected-error@+1 {{[add_c7]}}
  %1 = stablehlo.add %a, %b : (tensor<2x2x!x0>, tensor<2x2x!x1>) -> tensor<2x2x!x0>
  func.return %0, %1 : tensor<2x2x!x1>, tensor<2x2x!x0>
}
