func.func @parts(%a: tensor<2xcomplex<f32>>, %b: tensor<2xf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>) {
  %0 = stablehlo.real %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %1 = stablehlo.imag %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %2 = stablehlo.imag %b : tensor<2xf16>
  func.return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf16>
}

// -----

func.func @shapes(%a: tensor<2xcomplex<f32>>) -> (tensor<3xf32>, tensor<2x1xf32>) {
  // expected-error@+1 {{[real_c1]}}
  %0 = stablehlo.real %a : (tensor<2xcomplex<f32>>) -> tensor<3xf32>
  // expected-error@+1 {{[imag_c1]}}
  %1 = stablehlo.imag %a : (tensor<2xcomplex<f32>>) -> tensor<2x1xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<2x1xf32>
}

func.func @elements(%a: tensor<2xcomplex<f32>>, %b: tensor<2xf32>) -> (tensor<2xf64>, tensor<2xf64>) {
  // expected-error@+1 {{[real_c2]}}
  %0 = stablehlo.real %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  // expected-error@+1 {{[imag_c2]}}
  %1 = stablehlo.imag %b : (tensor<2xf32>) -> tensor<2xf64>
  func.return %0, %1 : tensor<2xf64>, tensor<2xf64>
}
