// Only the named triangle is read; the other is zero in the result.
func.func @triangles() {
  %a = stablehlo.constant dense<[[4.0, 99.0], [2.0, 10.0]]> : tensor<2x2xf64>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
  check.expect_almost_eq_const %0, dense<[[2.0, 0.0], [1.0, 3.0]]> : tensor<2x2xf64>
  %b = stablehlo.constant dense<[[4.0, 2.0], [99.0, 10.0]]> : tensor<2x2xf64>
  %1 = stablehlo.cholesky %b : tensor<2x2xf64>
  check.expect_almost_eq_const %1, dense<[[2.0, 1.0], [0.0, 3.0]]> : tensor<2x2xf64>
  return
}

// -----

func.func @hermitian_batch() {
  %a = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 2.0), (8.0, 0.0)]], [[(9.0, 0.0), (0.0, 0.0)], [(3.0, 3.0), (3.0, 0.0)]]]> : tensor<2x2x2xcomplex<f32>>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2x2xcomplex<f32>>
  check.expect_almost_eq_const %0, dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 2.0), (2.0, 0.0)]], [[(3.0, 0.0), (0.0, 0.0)], [(1.0, 1.0), (1.0, 0.0)]]]> : tensor<2x2x2xcomplex<f32>>
  return
}
