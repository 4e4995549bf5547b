func.func @formats(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2xf32>
  %1 = stablehlo.reduce_precision %0, format = e8m0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

func.func @elements(%a: tensor<2xf32>) -> tensor<2xf64> {
  // expected-error@+1 {{[reduce_precision_c1]}}
  %0 = stablehlo.reduce_precision %a, format = e5m10 : (tensor<2xf32>) -> tensor<2xf64>
  func.return %0 : tensor<2xf64>
}
