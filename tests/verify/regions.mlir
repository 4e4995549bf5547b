// What the blocks of regions are and end with.

func.func @empty(%a: tensor<2xf32>, %b: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{region 0 must have one block}}
  %0 = "stablehlo.reduce"(%a, %b) ({}) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func @end(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{region 1 must end with 'stablehlo.return'}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<f32>
  }, {
    %1 = stablehlo.negate %a : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func @outside(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{must be the last op of its block}}
  stablehlo.return %a : tensor<f32>
  func.return %a : tensor<f32>
}
