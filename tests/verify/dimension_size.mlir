func.func @get(%a: tensor<2x?xf32>) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x?xf32>) -> tensor<i32>
  func.return %0 : tensor<i32>
}

func.func @set(%a: tensor<4x3xf32>, %n: tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<4, ?>> {
  %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<4x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<4, ?>>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %1 = stablehlo.set_dimension_size %0, %c, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<4, ?>>, tensor<i32>) -> tensor<4x3xf32>
  func.return %0 : tensor<?x3xf32, #stablehlo.bounds<4, ?>>
}

// -----

func.func @get(%a: tensor<2x?xf32>) -> tensor<i32> {
  // expected-error@+1 {{[get_dimension_size_c1] 'stablehlo.get_dimension_size' op dimension must be in [0, 2), but has 2}}
  %0 = stablehlo.get_dimension_size %a, dim = 2 : (tensor<2x?xf32>) -> tensor<i32>
  // expected-error@+1 {{result 0 has the inferred type tensor<i32>, which is not compatible with the declared type tensor<1xi32>}}
  %1 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x?xf32>) -> tensor<1xi32>
  func.return %0 : tensor<i32>
}

func.func @set(%a: tensor<4xf32>, %n: tensor<i32>, %m: tensor<1xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{dimension must be in [0, 1), but has 1}}
  %0 = stablehlo.set_dimension_size %a, %n, dim = 1 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
  // expected-error@+1 {{the size must be a scalar, but is tensor<1xi32>}}
  %1 = stablehlo.set_dimension_size %a, %m, dim = 0 : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32, #stablehlo.bounds<4>>
  // expected-error@+1 {{result 0 has the inferred type}}
  %2 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  func.return %a : tensor<4xf32>
}
