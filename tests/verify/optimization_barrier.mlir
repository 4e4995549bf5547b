func.func @optimization_barrier(%a: tensor<f32>, %t: !stablehlo.token) -> tensor<f32> {
  %0:2 = stablehlo.optimization_barrier %a, %t : tensor<f32>, !stablehlo.token
  %1 = tensor.cast %0#0 : tensor<f32> to tensor<f32>
  func.return %1 : tensor<f32>
}

// -----

func.func @optimization_barrier(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{[optimization_barrier_c1]}}
  %0 = "stablehlo.optimization_barrier"(%a) : (tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{infers 1 results, but has 2}}
  %1:2 = "stablehlo.optimization_barrier"(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{cannot cast tensor<f32> to tensor<1xf32>}}
  %2 = tensor.cast %a : tensor<f32> to tensor<1xf32>
  func.return %a : tensor<f32>
}
