func.func @complex(%a: tensor<2xf64>, %b: tensor<?xf64>) -> tensor<2xcomplex<f64>> {
  %0 = "stablehlo.complex"(%a, %b) : (tensor<2xf64>, tensor<?xf64>) -> tensor<2xcomplex<f64>>
  func.return %0 : tensor<2xcomplex<f64>>
}

// -----

func.func @elements(%a: tensor<2xf32>, %b: tensor<2xf64>) -> tensor<2xcomplex<f32>> {
  // expected-error@+1 {{[complex_c1]}}
  %0 = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
  func.return %0 : tensor<2xcomplex<f32>>
}

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xcomplex<f32>> {
  // expected-error@+1 {{[complex_c2]}}
  %0 = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xcomplex<f32>>
  func.return %0 : tensor<2xcomplex<f32>>
}

func.func @result(%a: tensor<2xf32>) -> tensor<2xcomplex<f64>> {
  // expected-error@+1 {{[complex_c3]}}
  %0 = "stablehlo.complex"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  func.return %0 : tensor<2xcomplex<f64>>
}
