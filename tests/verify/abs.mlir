func.func @abs(%a: tensor<2xcomplex<f64>>, %b: tensor<?xi8>) -> (tensor<2xf64>, tensor<?xi8>) {
  %0 = stablehlo.abs %a : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %1 = stablehlo.abs %b : tensor<?xi8>
  func.return %0, %1 : tensor<2xf64>, tensor<?xi8>
}

// -----

func.func @shape(%a: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{[abs_c1] 'stablehlo.abs' op operands and results must have one shape}}
  %0 = stablehlo.abs %a : (tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

func.func @modulus(%a: tensor<2xcomplex<f32>>) -> tensor<2xf64> {
  // expected-error@+1 {{[abs_c2] 'stablehlo.abs' op result 0 has the inferred type tensor<2xf32>}}
  %0 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  func.return %0 : tensor<2xf64>
}
