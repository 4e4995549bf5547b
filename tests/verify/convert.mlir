func.func @convert(%a: tensor<?xf32>) -> tensor<?xui4> {
  %0 = stablehlo.convert %a : (tensor<?xf32>) -> tensor<?xui4>
  func.return %0 : tensor<?xui4>
}

// -----

func.func @shape(%a: tensor<2xf32>) -> tensor<1x2xi32> {
  // expected-error@+1 {{[convert_c1]}}
  %0 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<1x2xi32>
  func.return %0 : tensor<1x2xi32>
}

func.func @quantized(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32> {
  // expected-error@+1 {{operand 0 must be a tensor that is not quantized}}
  %0 = stablehlo.convert %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @nothing() -> tensor<2xf32> {
  // expected-error@+1 {{needs 1 operands, but has 0}}
  %0 = "stablehlo.convert"() : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
