func.func @is_finite(%a: tensor<?x2xf32>) -> tensor<?x2xi1> {
  %0 = stablehlo.is_finite %a : (tensor<?x2xf32>) -> tensor<?x2xi1>
  func.return %0 : tensor<?x2xi1>
}

// -----

func.func @shape(%a: tensor<2xf32>) -> tensor<3xi1> {
  // expected-error@+1 {{[is_finite_c1]}}
  %0 = stablehlo.is_finite %a : (tensor<2xf32>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}
