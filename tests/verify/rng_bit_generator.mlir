func.func @bits(%a: tensor<7xui64>, %b: tensor<2xui64>, %c: tensor<3xui64>, %d: tensor<?xui64>) {
  %0:2 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<7xui64>) -> (tensor<7xui64>, tensor<4x5xui32>)
  %1:2 = "stablehlo.rng_bit_generator"(%b) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x5xui32>)
  %2:2 = "stablehlo.rng_bit_generator"(%c) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4x5xui32>)
  %3:2 = "stablehlo.rng_bit_generator"(%d) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<?xui64>) -> (tensor<?xui64>, tensor<4x5xui32>)
  func.return
}

// -----

func.func @refused(%a: tensor<2xui64>, %b: tensor<3xui64>, %c: tensor<1xui64>) {
  // expected-error@+1 {{[rng_bit_generator_c1] 'stablehlo.rng_bit_generator' op result 0 has the inferred type tensor<2xui64>}}
  %0:2 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  // expected-error@+1 {{[rng_bit_generator_c1]}}
  %1:2 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui32>, tensor<4xui32>)
  // expected-error@+1 {{[rng_bit_generator_c2] 'stablehlo.rng_bit_generator' op the state of THREE_FRY cannot have 3 elements}}
  %2:2 = "stablehlo.rng_bit_generator"(%b) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  // expected-error@+1 {{[rng_bit_generator_c2]}}
  %3:2 = "stablehlo.rng_bit_generator"(%c) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<1xui64>) -> (tensor<1xui64>, tensor<4xui32>)
  func.return
}
