func.func @iota() -> tensor<2x3xf32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @dynamic(%n: tensor<2xi64>) -> tensor<?x3xi32> {
  %0 = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  %1 = stablehlo.dynamic_iota %0, dim = 1 : (tensor<2xi64>) -> tensor<4x3xi32>
  %2 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x3xi32>
  func.return %2 : tensor<?x3xi32>
}

// -----

func.func @dimensions() -> tensor<f32> {
  // expected-error@+1 {{[iota_c1] 'stablehlo.iota' op iota_dimension 0 is not a dimension of tensor<f32>}}
  %0 = stablehlo.iota dim = 0 : tensor<f32>
  // expected-error@+1 {{[iota_c1] 'stablehlo.iota' op iota_dimension 1 is not a dimension of tensor<2xf32>}}
  %1 = stablehlo.iota dim = 1 : tensor<2xf32>
  func.return %0 : tensor<f32>
}

func.func @dynamic(%n: tensor<2xi64>) -> tensor<2xi64> {
  // expected-error@+1 {{[dynamic_iota_c1] 'stablehlo.dynamic_iota' op iota_dimension must be in [0, 2), but is 2}}
  %0 = stablehlo.dynamic_iota %n, dim = 2 : (tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{[dynamic_iota_c2] 'stablehlo.dynamic_iota' op result 0 has the inferred type tensor<?x?xi32>}}
  %1 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?x?xi32>
  %2 = stablehlo.constant dense<[4, -3]> : tensor<2xi64>
  // expected-error@+1 {{[dynamic_iota_c2] 'stablehlo.dynamic_iota' op the result's shape [4, -3] has a negative size}}
  %3 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  func.return %n : tensor<2xi64>
}
