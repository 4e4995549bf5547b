func.func @fills(%a: tensor<?x2xi64>, %b: tensor<*xi64>, %c: tensor<2xf32>) {
  %0 = "chlo.constant_like"(%a) {value = 1.5 : f32} : (tensor<?x2xi64>) -> tensor<?x2xf32>
  %1 = "chlo.constant_like"(%b) {value = 1 : i8} : (tensor<*xi64>) -> tensor<*xi8>
  %2 = "chlo.constant_like"(%c) {value = true} : (tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

func.func @refused(%a: tensor<2xf32>) {
  // expected-error@+1 {{'chlo.constant_like' op result 0 must have elements of type f32, but has tensor<2xi32>}}
  %0 = "chlo.constant_like"(%a) {value = 1.5 : f32} : (tensor<2xf32>) -> tensor<2xi32>
  // expected-error@+1 {{'chlo.constant_like' op result 0 has the inferred type tensor<2xf32>}}
  %1 = "chlo.constant_like"(%a) {value = 1.5 : f32} : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{'chlo.constant_like' op attribute 'value' must be a number}}
  %2 = "chlo.constant_like"(%a) {value = "text"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
