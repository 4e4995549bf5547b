func.func @reverse(%a: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %0 = stablehlo.reverse %a, dims = [1, 0] : tensor<2x?xf32>
  %1 = stablehlo.reverse %0, dims = [] : tensor<2x?xf32>
  func.return %1 : tensor<2x?xf32>
}

// -----

func.func @reverse(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[reverse_c1]}}
  %0 = stablehlo.reverse %a, dims = [0] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  // expected-error@+1 {{[reverse_c1]}}
  %1 = stablehlo.reverse %a, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf16>
  // expected-error@+1 {{[reverse_c2]}}
  %2 = stablehlo.reverse %a, dims = [0, 0] : tensor<2x3xf32>
  // expected-error@+1 {{[reverse_c3] 'stablehlo.reverse' op dimensions must be in [0, 2), but has 2}}
  %3 = stablehlo.reverse %a, dims = [2] : tensor<2x3xf32>
  // expected-error@+1 {{[reverse_c3]}}
  %4 = stablehlo.reverse %a, dims = [-1] : tensor<2x3xf32>
  func.return %a : tensor<2x3xf32>
}
