func.func @impulse() {
  %x = stablehlo.constant dense<[(0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<4xcomplex<f32>>
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %0, dense<[(1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (0.0, 1.0)]> : tensor<4xcomplex<f32>>
  %1 = stablehlo.fft %0, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq %1, %x : tensor<4xcomplex<f32>>
  return
}

// -----

// There and back over two dimensions, through the half spectrum, with an odd prime factor and an even last length.
func.func @real_2d() {
  %i = stablehlo.iota dim = 1 : tensor<3x10xf64>
  %j = stablehlo.iota dim = 0 : tensor<3x10xf64>
  %p = stablehlo.multiply %i, %i : tensor<3x10xf64>
  %x = stablehlo.subtract %p, %j : tensor<3x10xf64>
  %0 = stablehlo.fft %x, type = RFFT, length = [3, 10] : (tensor<3x10xf64>) -> tensor<3x6xcomplex<f64>>
  %1 = stablehlo.fft %0, type = IRFFT, length = [3, 10] : (tensor<3x6xcomplex<f64>>) -> tensor<3x10xf64>
  check.expect_almost_eq %1, %x : tensor<3x10xf64>
  return
}

// -----

// A prime length too large for a radix of its own.
func.func @prime() {
  %re = stablehlo.iota dim = 0 : tensor<67xf64>
  %im = stablehlo.sine %re : tensor<67xf64>
  %x = stablehlo.complex %re, %im : tensor<67xcomplex<f64>>
  %0 = stablehlo.fft %x, type = FFT, length = [67] : (tensor<67xcomplex<f64>>) -> tensor<67xcomplex<f64>>
  %first = stablehlo.slice %0 [0:1] : (tensor<67xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  %sum = stablehlo.real %first : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_almost_eq_const %sum, dense<2211.0> : tensor<1xf64>, tolerance = 1.000000e-09
  %1 = stablehlo.fft %0, type = IFFT, length = [67] : (tensor<67xcomplex<f64>>) -> tensor<67xcomplex<f64>>
  check.expect_almost_eq %1, %x : tensor<67xcomplex<f64>>
  return
}
