// Also: imag
//
// The parts of complex numbers; real numbers are their own real part and have zero as the other.

// Both parts, whatever they are.
func.func @parts() {
  %x0 = stablehlo.constant dense<[(1.0, -2.0), (0x7FC00000, 0.0), (0xFF800000, 1.0)]> : tensor<3xcomplex<f32>>
  %r0 = stablehlo.real %x0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_almost_eq_const %r0, dense<[1.0, 0x7FC00000, 0xFF800000]> : tensor<3xf32>, tolerance = 0.0
  %x1 = stablehlo.constant dense<[(0.1, 0.2)]> : tensor<1xcomplex<f64>>
  %r1 = stablehlo.real %x1 : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_eq_const %r1, dense<[0.1]> : tensor<1xf64>
  %y0 = stablehlo.constant dense<[(1.0, -2.0), (0x7FC00000, 0.0), (0.0, 0x7F800000)]> : tensor<3xcomplex<f32>>
  %s0 = stablehlo.imag %y0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_eq_const %s0, dense<[-2.0, 0.0, 0x7F800000]> : tensor<3xf32>
  %y1 = stablehlo.constant dense<[(0.1, 0.2)]> : tensor<1xcomplex<f64>>
  %s1 = stablehlo.imag %y1 : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_eq_const %s1, dense<[0.2]> : tensor<1xf64>
  func.return
}

// -----

// Of real numbers.
func.func @of_real() {
  %x0 = stablehlo.constant dense<[1.5, 0xFF800000]> : tensor<2xf32>
  %r0 = stablehlo.real %x0 : tensor<2xf32>
  check.expect_eq_const %r0, dense<[1.5, 0xFF800000]> : tensor<2xf32>
  %x1 = stablehlo.constant dense<[2.0]> : tensor<1xbf16>
  %r1 = stablehlo.real %x1 : tensor<1xbf16>
  check.expect_eq_const %r1, dense<[2.0]> : tensor<1xbf16>
  %y0 = stablehlo.constant dense<[1.5, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %s0 = stablehlo.imag %y0 : tensor<3xf32>
  check.expect_eq_const %s0, dense<[0.0, 0.0, 0.0]> : tensor<3xf32>
  %y1 = stablehlo.constant dense<[2.0]> : tensor<1xf16>
  %s1 = stablehlo.imag %y1 : tensor<1xf16>
  check.expect_eq_const %s1, dense<[0.0]> : tensor<1xf16>
  func.return
}

// -----

// Sizes known only at run time; no elements; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %a = tensor.cast %x : tensor<1xcomplex<f32>> to tensor<?xcomplex<f32>>
  %b = stablehlo.real %a : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  %r = tensor.cast %b : tensor<?xf32> to tensor<1xf32>
  check.expect_eq_const %r, dense<[1.0]> : tensor<1xf32>
  %none = stablehlo.constant dense<> : tensor<0xcomplex<f64>>
  %n = stablehlo.imag %none : (tensor<0xcomplex<f64>>) -> tensor<0xf64>
  check.expect_eq_const %n, dense<> : tensor<0xf64>
  %p = stablehlo.constant dense<(1.0, -0.5)> : tensor<complex<f64>>
  %q = stablehlo.imag %p : (tensor<complex<f64>>) -> tensor<f64>
  check.expect_eq_const %q, dense<-0.5> : tensor<f64>
  func.return
}
