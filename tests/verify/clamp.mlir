func.func @clamp(%a: tensor<2xf32>, %lo: tensor<f32>, %hi: tensor<?xf32>) -> tensor<2xf32> {
  %0 = stablehlo.clamp %lo, %a, %hi : (tensor<f32>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @limits(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[clamp_c1] 'stablehlo.clamp' op min must be a scalar or have the shape [2] of the operand, but has [3]}}
  %0 = stablehlo.clamp %b, %a, %a : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{[clamp_c2] 'stablehlo.clamp' op max must be a scalar}}
  %1 = stablehlo.clamp %a, %a, %b : (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @elements(%a: tensor<2xf32>, %b: tensor<f64>) -> tensor<2xf32> {
  // expected-error@+1 {{[clamp_c3]}}
  %0 = stablehlo.clamp %b, %a, %b : (tensor<f64>, tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @result(%a: tensor<2xf32>) -> tensor<1x2xf32> {
  // expected-error@+1 {{[clamp_c4]}}
  %0 = stablehlo.clamp %a, %a, %a : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}
