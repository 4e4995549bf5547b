// complex: numbers from their parts.

// Any parts, NaN and infinity too.
func.func @parts() {
  %x0 = stablehlo.constant dense<[1.0, 0xFF800000]> : tensor<2xf32>
  %y0 = stablehlo.constant dense<[-2.0, 0.5]> : tensor<2xf32>
  %r0 = stablehlo.complex %x0, %y0 : tensor<2xcomplex<f32>>
  check.expect_eq_const %r0, dense<[(1.0, -2.0), (0xFF800000, 0.5)]> : tensor<2xcomplex<f32>>
  %x1 = stablehlo.constant dense<[0.1, 0x7FF8000000000000]> : tensor<2xf64>
  %y1 = stablehlo.constant dense<[1.0e+308, 0.0]> : tensor<2xf64>
  %r1 = stablehlo.complex %x1, %y1 : tensor<2xcomplex<f64>>
  check.expect_almost_eq_const %r1, dense<[(0.1, 1.0e+308),
                                           (0x7FF8000000000000, 0.0)]> : tensor<2xcomplex<f64>>, tolerance = 0.0
  func.return
}

// -----

// What real and imag take apart is put together.
func.func @back() {
  %z = stablehlo.constant dense<[[(1.0, 2.0)], [(-3.0, 4.0)]]> : tensor<2x1xcomplex<f32>>
  %a = stablehlo.real %z : (tensor<2x1xcomplex<f32>>) -> tensor<2x1xf32>
  %b = stablehlo.imag %z : (tensor<2x1xcomplex<f32>>) -> tensor<2x1xf32>
  %r = stablehlo.complex %a, %b : tensor<2x1xcomplex<f32>>
  check.expect_eq %r, %z : tensor<2x1xcomplex<f32>>
  func.return
}

// -----

// No elements, and a scalar.
func.func @shapes() {
  %none = stablehlo.constant dense<> : tensor<0xf64>
  %n = stablehlo.complex %none, %none : tensor<0xcomplex<f64>>
  check.expect_eq_const %n, dense<> : tensor<0xcomplex<f64>>
  %p = stablehlo.constant dense<1.0> : tensor<f32>
  %q = stablehlo.complex %p, %p : tensor<complex<f32>>
  check.expect_eq_const %q, dense<(1.0, 1.0)> : tensor<complex<f32>>
  func.return
}
