func.func @sides() {
  %a = stablehlo.constant dense<[[2.0, 77.0], [1.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[4.0, 2.0], [10.0, 9.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %0, dense<[[2.0, 1.0], [2.0, 2.0]]> : tensor<2x2xf32>
  %1 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %1, dense<[[2.0, 0.0], [5.0, 1.0]]> : tensor<2x2xf32>
  %2 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %2, dense<[[-6.0, -7.0], [10.0, 9.0]]> : tensor<2x2xf32>
  return
}

// -----

func.func @adjoint() {
  %a = stablehlo.constant dense<[[(0.0, 2.0)]]> : tensor<1x1xcomplex<f64>>
  %b = stablehlo.constant dense<[[(4.0, 0.0)]]> : tensor<1x1xcomplex<f64>>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<1x1xcomplex<f64>>, tensor<1x1xcomplex<f64>>) -> tensor<1x1xcomplex<f64>>
  check.expect_almost_eq_const %0, dense<[[(0.0, 2.0)]]> : tensor<1x1xcomplex<f64>>
  return
}
