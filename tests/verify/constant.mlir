func.func @constants() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %0 = stablehlo.constant dense<1> : tensor<2xi32>
  %1 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}

// -----

func.func @types() -> tensor<2xi64> {
  // expected-error@+1 {{[constant_c1]}}
  %0 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi32>} : () -> tensor<2xi64>
  // expected-error@+1 {{[constant_c1]}}
  %1 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<3xi64>
  // expected-error@+1 {{[constant_c1]}}
  %2 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xui8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return %0 : tensor<2xi64>
}
