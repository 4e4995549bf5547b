func.func @broadcast(%a: tensor<?x2xf32>) -> tensor<3x?x2xf32> {
  %0 = stablehlo.broadcast %a, sizes = [3] : (tensor<?x2xf32>) -> tensor<3x?x2xf32>
  func.return %0 : tensor<3x?x2xf32>
}

// -----

func.func @broadcast(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{broadcast_sizes must not be negative, but is [3, -1]}}
  %0 = stablehlo.broadcast %a, sizes = [3, -1] : (tensor<2xf32>) -> tensor<3x?x2xf32>
  // expected-error@+1 {{result 0 has the inferred type tensor<3x2xf32>, which is not compatible with the declared type tensor<2x3xf32>}}
  %1 = stablehlo.broadcast %a, sizes = [3] : (tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{operand and result must have one element type, but have f32 and f64}}
  %2 = stablehlo.broadcast %a, sizes = [3] : (tensor<2xf32>) -> tensor<3x2xf64>
  func.return %a : tensor<2xf32>
}
