// _asin_acos_kernel: for a = (|z + 1| + |z - 1|) / 2 and x = |Re z|, sqrt(a^2 - x^2) + i log(a + sqrt(a^2 - 1)):
// what the inverse trigonometric functions of complex numbers are made of.

// Inside, outside and far outside of the unit circle; signs do not matter.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(0.5, 0.25), (-2.0, 1.0), (1.0e+30, -1.0e+20)]> : tensor<3xcomplex<f32>>
  %r0 = chlo._asin_acos_kernel %x0 : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %e0 = stablehlo.constant dense<[(0.9117543, 0.28139606), (1.1117859, 1.4693518), (1.0e+20, 69.7707)]> : tensor<3xcomplex<f32>>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(0.5, -0.25), (3.0, 1.0e-10)]> : tensor<2xcomplex<f64>>
  %r1 = chlo._asin_acos_kernel %x1 : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %e1 = stablehlo.constant dense<[(0.9117543273261622, 0.2813960562452928),
                                  (1.0606601717798214e-10, 1.762747174039086)]> : tensor<2xcomplex<f64>>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}

// -----

// Next to 1, where both parts are small.
func.func @near_one() {
  %x0 = stablehlo.constant dense<[(1.0, 1.0e-12), (0.999999, 1.0e-09)]> : tensor<2xcomplex<f64>>
  %r0 = chlo._asin_acos_kernel %x0 : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %e0 = stablehlo.constant dense<[(1.00000000000025e-06, 1.0000000000000834e-06),
                                  (0.0014142133856167663, 7.071068695648409e-07)]> : tensor<2xcomplex<f64>>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}
