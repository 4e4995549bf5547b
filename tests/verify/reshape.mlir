!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>
!x1 = !quant.uniform<i8:f32:1, {0.5:1, 0.25:2}>

func.func @reshape(%a: tensor<2x3xf32>, %b: tensor<?xf32>, %c: tensor<2x4x!x0>) -> tensor<6xf32> {
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = stablehlo.reshape %b : (tensor<?xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.reshape %c : (tensor<2x4x!x0>) -> tensor<1x2x4x!x1>
  func.return %0 : tensor<6xf32>
}

func.func @dynamic(%a: tensor<?xf32>, %n: tensor<2xi32>) -> tensor<?x?xf32> {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %a, %c : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x?xf32>
  %1 = stablehlo.dynamic_reshape %a, %n : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}

// -----

!q = !quant.uniform<i8:f32, 0.5:1>
!p = !quant.uniform<i8:f32, 0.25:1>
!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>
!x1 = !quant.uniform<i8:f32:1, {0.5:1, 0.25:2}>
!y0 = !quant.uniform<i8:f32:0, {0.5:1, 0.5:2}>
!z0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2, 0.5:1, 0.5:1}>

func.func @numbers(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[reshape_c1]}}
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xi32>
  // expected-error@+1 {{[reshape_c2] 'stablehlo.reshape' op the operand has 6 elements, but the result has 5}}
  %1 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>
  // expected-error@+1 {{[reshape_c2] 'stablehlo.reshape' op the number of elements is too large}}
  %2 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<9223372036854775807x9223372036854775807xf32>
  func.return %a : tensor<2x3xf32>
}

func.func @quantized(%a: tensor<2x4x!x0>, %b: tensor<2x!q>) -> tensor<2x!q> {
  // expected-error@+1 {{[reshape_c1] 'stablehlo.reshape' op operand and result must have the same scales and zero points}}
  %0 = stablehlo.reshape %b : (tensor<2x!q>) -> tensor<1x2x!p>
  // expected-error@+1 {{[reshape_c1] 'stablehlo.reshape' op operand and result must have the same scales and zero points}}
  %1 = stablehlo.reshape %a : (tensor<2x4x!x0>) -> tensor<2x2x2x!y0>
  // expected-error@+1 {{[reshape_c1]}}
  %2 = stablehlo.reshape %a : (tensor<2x4x!x0>) -> tensor<4x2x!z0>
  // expected-error@+1 {{[reshape_c3] 'stablehlo.reshape' op the dimensions before the quantized one have 1 elements in the operand, but 4 in the result}}
  %3 = stablehlo.reshape %a : (tensor<2x4x!x0>) -> tensor<4x2x!x1>
  func.return %b : tensor<2x!q>
}

func.func @dynamic(%a: tensor<2x3xf32>, %b: tensor<2x?x!x0>, %n: tensor<2xi32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[dynamic_reshape_c1]}}
  %0 = stablehlo.dynamic_reshape %a, %n : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf64>
  // expected-error@+1 {{[dynamic_reshape_c2]}}
  %1 = stablehlo.dynamic_reshape %a, %n : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<3x3xf32>
  %c = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  // expected-error@+1 {{[dynamic_reshape_c2] 'stablehlo.dynamic_reshape' op the operand has 6 elements, but the result has 8}}
  %2 = stablehlo.dynamic_reshape %a, %c : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_reshape_c3]}}
  %3 = stablehlo.dynamic_reshape %b, %n : (tensor<2x?x!x0>, tensor<2xi32>) -> tensor<3x2x!x1>
  // expected-error@+1 {{[dynamic_reshape_c4]}}
  %4 = stablehlo.dynamic_reshape %a, %n : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?x?xf32>
  %d = stablehlo.constant dense<[-1, 6]> : tensor<2xi32>
  // expected-error@+1 {{[dynamic_reshape_c4] 'stablehlo.dynamic_reshape' op the result's shape [-1, 6] has a negative size}}
  %5 = stablehlo.dynamic_reshape %a, %d : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return %a : tensor<2x3xf32>
}
