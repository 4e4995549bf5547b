// conj: the imaginary part with the other sign; real numbers as they are.

// Complex numbers, also with a zero or NaN as a part.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 0x7F800000)]> : tensor<2xcomplex<f32>>
  %r0 = chlo.conj %x0 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r0, dense<[(1.0, 2.0), (0.0, 0xFF800000)]> : tensor<2xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(-0.5, 0.25)]> : tensor<1xcomplex<f64>>
  %r1 = chlo.conj %x1 : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  check.expect_eq_const %r1, dense<[(-0.5, -0.25)]> : tensor<1xcomplex<f64>>
  %z = stablehlo.constant dense<[(1.0, 0.0)]> : tensor<1xcomplex<f32>>
  %c = chlo.conj %z : tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>
  %i = stablehlo.imag %c : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %bits = stablehlo.bitcast_convert %i : (tensor<1xf32>) -> tensor<1xui32>
  check.expect_eq_const %bits, dense<0x80000000> : tensor<1xui32>
  func.return
}

// -----

// Real numbers.
func.func @real() {
  %x0 = stablehlo.constant dense<[1.5, 0xFF800000]> : tensor<2xf32>
  %r0 = chlo.conj %x0 : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %r0, dense<[1.5, 0xFF800000]> : tensor<2xf32>
  %x1 = stablehlo.constant dense<[-2.0]> : tensor<1xbf16>
  %r1 = chlo.conj %x1 : tensor<1xbf16> -> tensor<1xbf16>
  check.expect_eq_const %r1, dense<[-2.0]> : tensor<1xbf16>
  func.return
}
