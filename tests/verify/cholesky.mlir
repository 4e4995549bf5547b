func.func @factors(%a: tensor<4x4xf32>, %b: tensor<2x?x?xf64>, %c: tensor<3x3xcomplex<f32>>, %d: tensor<?x3xf32>) {
  %0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.cholesky"(%b) {lower = true} : (tensor<2x?x?xf64>) -> tensor<2x?x?xf64>
  %2 = "stablehlo.cholesky"(%c) {lower = true} : (tensor<3x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  %3 = "stablehlo.cholesky"(%d) {lower = true} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4x4xf32>, %b: tensor<4xf32>, %c: tensor<4x5xf32>) {
  // expected-error@+1 {{[cholesky_c1] 'stablehlo.cholesky' op result 0 has the inferred type tensor<4x4xf32>}}
  %0 = "stablehlo.cholesky"(%a) : (tensor<4x4xf32>) -> tensor<4x5xf32>
  // expected-error@+1 {{[cholesky_c2] 'stablehlo.cholesky' op a must have at least 2 dimensions, but has type tensor<4xf32>}}
  %1 = "stablehlo.cholesky"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[cholesky_c3] 'stablehlo.cholesky' op matrices of a must be square, but it has type tensor<4x5xf32>}}
  %2 = "stablehlo.cholesky"(%c) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return
}
