func.func @sizes(%a: tensor<1x?xf32>, %n: tensor<3xi64>) -> tensor<4x?x2xf32> {
  %c = stablehlo.constant dense<[4, 3, 2]> : tensor<3xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0, 1] : (tensor<1x?xf32>, tensor<3xi64>) -> tensor<4x?x2xf32>
  %1 = stablehlo.dynamic_broadcast_in_dim %a, %c, dims = [0, 1] : (tensor<1x?xf32>, tensor<3xi64>) -> tensor<?x3x2xf32>
  %2 = "stablehlo.dynamic_broadcast_in_dim"(%a, %n) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  func.return %0 : tensor<4x?x2xf32>
}

// -----

func.func @elements(%a: tensor<2xf32>, %n: tensor<2xi64>) -> tensor<2xf32> {
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c1]}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0] : (tensor<2xf32>, tensor<2xi64>) -> tensor<2x?xf64>
  func.return %a : tensor<2xf32>
}

func.func @dimensions(%a: tensor<2x3xf32>, %n: tensor<2xi64>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c2]}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c3]}}
  %1 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0, 2] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c4]}}
  %2 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [1, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c5]}}
  %3 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x?xf32>
  %c = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c5] 'stablehlo.dynamic_broadcast_in_dim' op operand dimension 0 of size 2 cannot be broadcast to result dimension 0 of size 4}}
  %4 = stablehlo.dynamic_broadcast_in_dim %a, %c, dims = [0, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %a : tensor<2x3xf32>
}

func.func @shape(%a: tensor<1xf32>, %n: tensor<2xi64>) -> tensor<1xf32> {
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c7]}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [0] : (tensor<1xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>
  %c = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c7] 'stablehlo.dynamic_broadcast_in_dim' op result 0 has the inferred type tensor<4x3xf32>}}
  %1 = stablehlo.dynamic_broadcast_in_dim %a, %c, dims = [0] : (tensor<1xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  func.return %a : tensor<1xf32>
}

func.func @hints(%a: tensor<1xf32>, %n: tensor<2xi64>) -> tensor<1xf32> {
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c8] 'stablehlo.dynamic_broadcast_in_dim' op known_expanding_dimensions and known_nonexpanding_dimensions must not have duplicates}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %n) {broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c9]}}
  %1 = "stablehlo.dynamic_broadcast_in_dim"(%a, %n) {broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64: 1>} : (tensor<1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c10]}}
  %2 = "stablehlo.dynamic_broadcast_in_dim"(%a, %n) {broadcast_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: -1>} : (tensor<1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %a : tensor<1xf32>
}

func.func @axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %n: tensor<2xi64>) -> tensor<2xi64> {
  // expected-error@+1 {{[dynamic_broadcast_in_dim_c6]}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<?x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return %n : tensor<2xi64>
}
