func.func @feeds(%a: !stablehlo.token, %b: tensor<2x3xf32>) {
  %0:3 = "stablehlo.infeed"(%a) {infeed_config = "text", layout = [[0, 1], []]} : (!stablehlo.token) -> (tensor<2x3xf32>, tensor<i1>, !stablehlo.token)
  %1 = "stablehlo.infeed"(%a) : (!stablehlo.token) -> !stablehlo.token
  %2 = "stablehlo.outfeed"(%b, %a) : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token
  func.return
}

// -----

func.func @refused(%a: !stablehlo.token) {
  // expected-error@+1 {{[infeed_c1] 'stablehlo.infeed' op needs at least one result}}
  "stablehlo.infeed"(%a) : (!stablehlo.token) -> ()
  // expected-error@+1 {{[infeed_c2] 'stablehlo.infeed' op result 0 must be a tensor, but is !stablehlo.token}}
  %0:2 = "stablehlo.infeed"(%a) : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  // expected-error@+1 {{[infeed_c3] 'stablehlo.infeed' op result 0 must be a token, but is tensor<f32>}}
  %1 = "stablehlo.infeed"(%a) : (!stablehlo.token) -> tensor<f32>
  // expected-error@+1 {{'stablehlo.infeed' op layout must have 2 elements, but has 1}}
  %2:3 = "stablehlo.infeed"(%a) {layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<2x3xf32>, tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{'stablehlo.infeed' op element 0 of layout must be an array}}
  %3:2 = "stablehlo.infeed"(%a) {layout = [1 : i64]} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{'stablehlo.infeed' op element 0 of layout must be of integers}}
  %4:2 = "stablehlo.infeed"(%a) {layout = [["x"]]} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  func.return
}
