func.func @products(%a: tensor<3xf32>, %b: tensor<2x?xf32>, %c: tensor<3x?xf32>, %d: tensor<2x3xi8>, %e: tensor<3x4xi8>) {
  %0 = "stablehlo.dot"(%a, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  %1 = "stablehlo.dot"(%b, %a) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2xf32>
  %2 = "stablehlo.dot"(%a, %c) : (tensor<3xf32>, tensor<3x?xf32>) -> tensor<?xf32>
  %3 = "stablehlo.dot"(%d, %e) : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  func.return
}

// -----

func.func @refused(%a: tensor<f32>, %b: tensor<2x3x4xf32>, %c: tensor<4xf32>, %d: tensor<2x3xf32>, %e: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot' op operands must be vectors or matrices, but are tensor<f32> and tensor<f32>}}
  %0 = "stablehlo.dot"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{'stablehlo.dot' op operands must be vectors or matrices}}
  %1 = "stablehlo.dot"(%b, %c) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.dot' op contracting dimensions differ: lhs dimension 1 is 3, rhs dimension 0 is 2}}
  %2 = "stablehlo.dot"(%d, %d) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.dot' op precision_config must have one element for each operand, but has 3}}
  %3 = "stablehlo.dot"(%d, %e) {precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{'stablehlo.dot' op result 0 has the inferred type tensor<2x4xf32>}}
  %4 = "stablehlo.dot"(%d, %e) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  func.return
}
