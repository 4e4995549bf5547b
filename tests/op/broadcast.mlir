// broadcast: new dimensions before the operand's.

func.func @two_new_dimensions() {
  %x = stablehlo.constant dense<[7, -8]> : tensor<2xi16>
  %r = stablehlo.broadcast %x, sizes = [2, 3] : (tensor<2xi16>) -> tensor<2x3x2xi16>
  check.expect_eq_const %r, dense<[[[7, -8], [7, -8], [7, -8]], [[7, -8], [7, -8], [7, -8]]]> : tensor<2x3x2xi16>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<(1.5, -2.0)> : tensor<complex<f64>>
  %r = stablehlo.broadcast %x, sizes = [3] : (tensor<complex<f64>>) -> tensor<3xcomplex<f64>>
  check.expect_eq_const %r, dense<(1.5, -2.0)> : tensor<3xcomplex<f64>>
  func.return
}

func.func @no_new_dimensions() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r = stablehlo.broadcast %x, sizes = [] : (tensor<2xi1>) -> tensor<2xi1>
  check.expect_eq_const %r, dense<[true, false]> : tensor<2xi1>
  func.return
}

func.func @zero_times() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.broadcast %x, sizes = [0, 4] : (tensor<2xf32>) -> tensor<0x4x2xf32>
  check.expect_eq_const %r, dense<> : tensor<0x4x2xf32>
  func.return
}

func.func @empty_operand() {
  %x = stablehlo.constant dense<> : tensor<0xi8>
  %r = stablehlo.broadcast %x, sizes = [5] : (tensor<0xi8>) -> tensor<5x0xi8>
  check.expect_eq_const %r, dense<> : tensor<5x0xi8>
  func.return
}
