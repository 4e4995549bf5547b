func.func @broadcasts(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<2x1xf32>, %d: tensor<4x1x3xf32>, %e: tensor<?xf32>, %f: tensor<1xf32>, %g: tensor<f32>, %h: tensor<2xf32>, %i: tensor<0xf32>, %j: tensor<2x3x4xf32>, %k: tensor<3x1xf32>, %l: tensor<?xf32, #stablehlo.bounds<4>>, %m: tensor<?xf32, #stablehlo.bounds<6>>, %n: tensor<*xf32>, %o: tensor<2x3xf64>, %a0: tensor<3xf64>, %a1: tensor<2x1xi1>, %a2: tensor<i1>) {
  %0 = "chlo.broadcast_add"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = "chlo.broadcast_add"(%c, %d) : (tensor<2x1xf32>, tensor<4x1x3xf32>) -> tensor<4x2x3xf32>
  %2 = "chlo.broadcast_add"(%e, %b) : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = "chlo.broadcast_add"(%e, %f) : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  %4 = "chlo.broadcast_add"(%e, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %5 = "chlo.broadcast_add"(%g, %h) : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %6 = "chlo.broadcast_add"(%e, %i) : (tensor<?xf32>, tensor<0xf32>) -> tensor<0xf32>
  %7 = "chlo.broadcast_add"(%j, %b) {broadcast_dimensions = array<i64: 1>} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %8 = "chlo.broadcast_add"(%b, %k) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %9 = "chlo.broadcast_add"(%g, %b) {broadcast_dimensions = array<i64>} : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %10 = "chlo.broadcast_add"(%l, %m) : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<?xf32, #stablehlo.bounds<6>>) -> tensor<?xf32, #stablehlo.bounds<6>>
  %11 = "chlo.broadcast_add"(%n, %b) : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
  %12 = "chlo.broadcast_compare"(%a, %b) {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %13 = "chlo.broadcast_complex"(%o, %a0) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xcomplex<f64>>
  %14 = "chlo.broadcast_select"(%a1, %b, %g) : (tensor<2x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %15 = "chlo.broadcast_select"(%a2, %n, %g) : (tensor<i1>, tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<3xf32>, %b: tensor<3xf64>, %c: tensor<2x4xf32>, %d: tensor<2x3xf32>, %e: tensor<3xf16>, %f: tensor<i1>, %g: tensor<2xi1>) {
  // expected-error@+1 {{'chlo.broadcast_add' op operands must have compatible element types, but have f32 and f64}}
  %0 = "chlo.broadcast_add"(%a, %b) : (tensor<3xf32>, tensor<3xf64>) -> tensor<3xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op operand 1 of type tensor<2x4xf32> cannot be broadcast with those before it: its dimension 1 has size 4, not 3}}
  %1 = "chlo.broadcast_add"(%a, %c) : (tensor<3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op result 0 has the inferred type tensor<2x3xf32>}}
  %2 = "chlo.broadcast_add"(%a, %d) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op result 0 has the inferred type tensor<3xf32>}}
  %3 = "chlo.broadcast_add"(%a, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf64>
  // expected-error@+1 {{'chlo.broadcast_add' op broadcast_dimensions must have 1 elements, but has 2}}
  %4 = "chlo.broadcast_add"(%a, %d) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op broadcast_dimensions must be in [0, 2), but has 2}}
  %5 = "chlo.broadcast_add"(%a, %d) {broadcast_dimensions = array<i64: 2>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op broadcast_dimensions must not have duplicates, but has 0 twice}}
  %6 = "chlo.broadcast_add"(%d, %d) {broadcast_dimensions = array<i64: 0, 0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'chlo.broadcast_add' op dimension 0 of size 3 cannot be broadcast to one of size 2}}
  %7 = "chlo.broadcast_add"(%a, %d) {broadcast_dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'chlo.broadcast_complex' op complex numbers are made of f32 or f64, not of f16}}
  %8 = "chlo.broadcast_complex"(%e, %e) : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xcomplex<f32>>
  // expected-error@+1 {{'chlo.broadcast_select' op both branches must have one element type, but have f32 and f64}}
  %9 = "chlo.broadcast_select"(%f, %a, %b) : (tensor<i1>, tensor<3xf32>, tensor<3xf64>) -> tensor<3xf32>
  // expected-error@+1 {{'chlo.broadcast_select' op operand 1 of type tensor<3xf32> cannot be broadcast with those before it}}
  %10 = "chlo.broadcast_select"(%g, %a, %a) : (tensor<2xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
