func.func @solves(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>, %c: tensor<4x4xf32>, %d: tensor<3x4xf32>, %e: tensor<?x?x4xf32>, %f: tensor<2x?x3xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %1 = "stablehlo.triangular_solve"(%c, %d) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = "stablehlo.triangular_solve"(%e, %f) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<?x?x4xf32>, tensor<2x?x3xf32>) -> tensor<2x?x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4x4xf32>, %b: tensor<4x3xf64>, %c: tensor<4xf32>, %d: tensor<2x4x3xf32>, %e: tensor<4x5xf32>, %f: tensor<4x3xf32>, %g: tensor<5x3xf32>, %h: tensor<2x4x4xf32>, %i: tensor<3x4x3xf32>) {
  // expected-error@+1 {{[triangular_solve_c1] 'stablehlo.triangular_solve' op operands must have one element type, but a has type tensor<4x4xf32> and b has type tensor<4x3xf64>}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x3xf64>) -> tensor<4x3xf64>
  // expected-error@+1 {{[triangular_solve_c2] 'stablehlo.triangular_solve' op a must have at least 2 dimensions}}
  %1 = "stablehlo.triangular_solve"(%c, %c) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[triangular_solve_c2] 'stablehlo.triangular_solve' op operands must have one rank}}
  %2 = "stablehlo.triangular_solve"(%a, %d) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  // expected-error@+1 {{[triangular_solve_c3] 'stablehlo.triangular_solve' op matrices of a must be square}}
  %3 = "stablehlo.triangular_solve"(%e, %f) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x5xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[triangular_solve_c3] 'stablehlo.triangular_solve' op b must have as many rows as a}}
  %4 = "stablehlo.triangular_solve"(%a, %g) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  // expected-error@+1 {{[triangular_solve_c3] 'stablehlo.triangular_solve' op b must have as many columns as a}}
  %5 = "stablehlo.triangular_solve"(%a, %f) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[triangular_solve_c3] 'stablehlo.triangular_solve' op batches must have one shape}}
  %6 = "stablehlo.triangular_solve"(%h, %i) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x4x4xf32>, tensor<3x4x3xf32>) -> tensor<3x4x3xf32>
  // expected-error@+1 {{[triangular_solve_c4] 'stablehlo.triangular_solve' op result 0 has the inferred type tensor<4x3xf32>}}
  %7 = "stablehlo.triangular_solve"(%a, %f) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  // expected-error@+1 {{'stablehlo.triangular_solve' op transpose_a must not be TRANSPOSE_INVALID}}
  %8 = "stablehlo.triangular_solve"(%a, %f) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return
}
