func.func @transforms(%a: tensor<3x9xcomplex<f32>>, %b: tensor<3x?xcomplex<f32>>, %c: tensor<3x9xf32>, %d: tensor<3x9xf64>, %e: tensor<3x5xcomplex<f32>>, %f: tensor<?x?xcomplex<f32>>, %g: tensor<3x0xf32>, %h: tensor<?x9xf32, #stablehlo.bounds<4, ?>>) {
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 9>} : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
  %1 = "stablehlo.fft"(%b) {fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 9>} : (tensor<3x?xcomplex<f32>>) -> tensor<3x?xcomplex<f32>>
  %2 = "stablehlo.fft"(%c) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>} : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
  %3 = "stablehlo.fft"(%d) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 3, 9>} : (tensor<3x9xf64>) -> tensor<3x5xcomplex<f64>>
  %4 = "stablehlo.fft"(%e) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>} : (tensor<3x5xcomplex<f32>>) -> tensor<3x8xf32>
  %5 = "stablehlo.fft"(%e) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>} : (tensor<3x5xcomplex<f32>>) -> tensor<3x9xf32>
  %6 = "stablehlo.fft"(%f) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>} : (tensor<?x?xcomplex<f32>>) -> tensor<?x9xf32>
  %7 = "stablehlo.fft"(%g) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 0>} : (tensor<3x0xf32>) -> tensor<3x0xcomplex<f32>>
  %8 = "stablehlo.fft"(%h) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>} : (tensor<?x9xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x5xcomplex<f32>, #stablehlo.bounds<4, ?>>
  func.return
}

// -----

func.func @refused(%a: tensor<9xcomplex<f32>>, %b: tensor<9xf32>, %c: tensor<9xf16>, %d: tensor<1x1x1x9xcomplex<f32>>, %e: tensor<3x9xf32>, %f: tensor<3x5xcomplex<f32>>, %g: tensor<?xcomplex<f32>>, %h: tensor<3x9xcomplex<f32>>) {
  // expected-error@+1 {{[fft_c1] 'stablehlo.fft' op fft_length must not have more elements than the operand has dimensions, 1, but has 2}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 3, 9>} : (tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  // expected-error@+1 {{[fft_c2] 'stablehlo.fft' op FFT takes complex numbers, but the operand has elements of type f32}}
  %1 = "stablehlo.fft"(%b) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 9>} : (tensor<9xf32>) -> tensor<9xcomplex<f32>>
  // expected-error@+1 {{[fft_c2] 'stablehlo.fft' op RFFT takes f32 or f64, but the operand has elements of type complex<f32>}}
  %2 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>} : (tensor<9xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  // expected-error@+1 {{[fft_c2]}}
  %3 = "stablehlo.fft"(%c) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>} : (tensor<9xf16>) -> tensor<5xcomplex<f32>>
  // expected-error@+1 {{[fft_c2] 'stablehlo.fft' op result 0 must have elements of type complex<f32>}}
  %4 = "stablehlo.fft"(%b) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>} : (tensor<9xf32>) -> tensor<5xcomplex<f64>>
  // expected-error@+1 {{[fft_c3] 'stablehlo.fft' op fft_length must have 1 to 3 elements, but has 0}}
  %5 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>} : (tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  // expected-error@+1 {{[fft_c3]}}
  %6 = "stablehlo.fft"(%d) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1, 1, 1, 9>} : (tensor<1x1x1x9xcomplex<f32>>) -> tensor<1x1x1x9xcomplex<f32>>
  // expected-error@+1 {{[fft_c4] 'stablehlo.fft' op the innermost dimensions [9] differ from fft_length [8]}}
  %7 = "stablehlo.fft"(%e) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<3x9xf32>) -> tensor<3x5xcomplex<f32>>
  // expected-error@+1 {{[fft_c4] 'stablehlo.fft' op the innermost dimensions [3, 5] differ from fft_length [4, 9]}}
  %8 = "stablehlo.fft"(%f) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4, 9>} : (tensor<3x5xcomplex<f32>>) -> tensor<3x9xf32>
  // expected-error@+1 {{[fft_c4] 'stablehlo.fft' op fft_length must not be negative, but is [-1]}}
  %9 = "stablehlo.fft"(%g) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: -1>} : (tensor<?xcomplex<f32>>) -> tensor<?xf32>
  // expected-error@+1 {{[fft_c5] 'stablehlo.fft' op the last dimension must have size 5 for a length of 9, but has 9}}
  %10 = "stablehlo.fft"(%h) {fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>} : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xf32>
  // expected-error@+1 {{[fft_c5] 'stablehlo.fft' op result 0 has the inferred type tensor<3x9xcomplex<f32>>}}
  %11 = "stablehlo.fft"(%h) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 9>} : (tensor<3x9xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
  func.return
}
