func.func @numbers(%a: tensor<f32>, %b: tensor<2xi64>, %c: tensor<i32>, %d: tensor<0xindex>) {
  %0 = "stablehlo.rng"(%a, %a, %b) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = "stablehlo.rng"(%c, %c, %d) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<i32>, tensor<i32>, tensor<0xindex>) -> tensor<i32>
  %shape = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %r = "stablehlo.rng"(%a, %a, %shape) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<f32>, %b: tensor<f64>, %c: tensor<2xi64>, %d: tensor<i32>) {
  // expected-error@+1 {{[rng_c1] 'stablehlo.rng' op a and b must have one element type, but have f32 and f64}}
  %0 = "stablehlo.rng"(%a, %b, %c) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[rng_c1] 'stablehlo.rng' op result 0 must have elements of type f32}}
  %1 = "stablehlo.rng"(%a, %a, %c) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf64>
  // expected-error@+1 {{[rng_c2] 'stablehlo.rng' op a normal distribution is of floats, not of i32}}
  %2 = "stablehlo.rng"(%d, %d, %c) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{[rng_c3] 'stablehlo.rng' op result 0 has the inferred type tensor<?x?xf32>}}
  %3 = "stablehlo.rng"(%a, %a, %c) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?xf32>
  %shape = stablehlo.constant dense<[3, -4]> : tensor<2xi64>
  // expected-error@+1 {{[rng_c3] 'stablehlo.rng' op the result's shape [3, -4] has a negative size}}
  %r = "stablehlo.rng"(%a, %a, %shape) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x?xf32>
  func.return
}
