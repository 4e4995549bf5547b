// print: shows a value and leaves it as it is.

func.func @values() {
  %x = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  interpreter.print %x : tensor<2xi32>
  %z = stablehlo.constant dense<(1.0, -0.5)> : tensor<complex<f32>>
  interpreter.print %z : tensor<complex<f32>>
  %none = stablehlo.constant dense<> : tensor<0xi1>
  interpreter.print %none : tensor<0xi1>
  check.expect_eq_const %x, dense<[1, -2]> : tensor<2xi32>
  check.expect_eq_const %z, dense<(1.0, -0.5)> : tensor<complex<f32>>
  func.return
}
