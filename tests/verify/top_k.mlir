func.func @largest(%a: tensor<2x8xf32>, %b: tensor<?x?xbf16>, %c: tensor<?x?xf32, #stablehlo.bounds<4, 8>>, %d: tensor<*xf32>) {
  %0:2 = "chlo.top_k"(%a) {k = 3 : i64} : (tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %1:2 = "chlo.top_k"(%b) {k = 3 : i64} : (tensor<?x?xbf16>) -> (tensor<?x3xbf16>, tensor<?x3xi32>)
  %2:2 = "chlo.top_k"(%c) {k = 3 : i64} : (tensor<?x?xf32, #stablehlo.bounds<4, 8>>) -> (tensor<?x3xf32, #stablehlo.bounds<4, ?>>, tensor<?x3xi32, #stablehlo.bounds<4, ?>>)
  %3:2 = "chlo.top_k"(%d) {k = 3 : i64} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi32>)
  func.return
}

// -----

func.func @refused(%a: tensor<f32>, %b: tensor<8xf32>) {
  // expected-error@+1 {{'chlo.top_k' op the operand must have at least one dimension}}
  %0:2 = "chlo.top_k"(%a) {k = 0 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<i32>)
  // expected-error@+1 {{'chlo.top_k' op cannot take 9 elements of a dimension of size 8}}
  %1:2 = "chlo.top_k"(%b) {k = 9 : i64} : (tensor<8xf32>) -> (tensor<9xf32>, tensor<9xi32>)
  // expected-error@+1 {{'chlo.top_k' op cannot take -1 elements of a dimension of size 8}}
  %2:2 = "chlo.top_k"(%b) {k = -1 : i64} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>)
  // expected-error@+1 {{'chlo.top_k' op result 1 has the inferred type tensor<3xi32>}}
  %3:2 = "chlo.top_k"(%b) {k = 3 : i64} : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  func.return
}
