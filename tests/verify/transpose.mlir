!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>
!x1 = !quant.uniform<i8:f32:1, {0.5:1, 0.25:2}>

func.func @transpose(%a: tensor<2x?x?xf32, #stablehlo.bounds<?, 4, ?>>, %b: tensor<2x3x!x0>) -> tensor<3x2x!x1> {
  %0 = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<2x?x?xf32, #stablehlo.bounds<?, 4, ?>>) -> tensor<?x?x2xf32, #stablehlo.bounds<4, ?, ?>>
  %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x3x!x0>) -> tensor<3x2x!x1>
  func.return %1 : tensor<3x2x!x1>
}

// -----

!q = !quant.uniform<i8:f32, 0.5:1>
!p = !quant.uniform<i8:f32, 0.25:1>
!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>

func.func @transpose(%a: tensor<2x3xf32>, %b: tensor<2x3x!q>, %c: tensor<2x2x!x0>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[transpose_c1]}}
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xi32>
  // expected-error@+1 {{[transpose_c1]}}
  %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x3x!q>) -> tensor<3x2x!p>
  // expected-error@+1 {{[transpose_c2] 'stablehlo.transpose' op permutation must have 2 elements, but has 1}}
  %2 = stablehlo.transpose %a, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[transpose_c2] 'stablehlo.transpose' op permutation must be in [0, 2), but has 2}}
  %3 = stablehlo.transpose %a, dims = [2, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[transpose_c2] 'stablehlo.transpose' op permutation must not have duplicates, but has 1 twice}}
  %4 = stablehlo.transpose %a, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  // expected-error@+1 {{[transpose_c3] 'stablehlo.transpose' op result 0 has the inferred type tensor<3x2xf32>}}
  %5 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[transpose_c4]}}
  %6 = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x2x!x0>) -> tensor<2x2x!x0>
  func.return %a : tensor<2x3xf32>
}
