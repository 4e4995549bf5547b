func.func @sizes(%a: tensor<2x?xf32>, %b: tensor<3x4xf32>, %c: tensor<?x4xf32, #stablehlo.bounds<5, ?>>) -> tensor<?x4xf32> {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x?xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.concatenate %b, %c, dim = 0 : (tensor<3x4xf32>, tensor<?x4xf32, #stablehlo.bounds<5, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  %2 = stablehlo.concatenate %b, dim = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x4xf32>, tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}

// -----

func.func @operands(%a: tensor<2x3xf32>, %b: tensor<2x3xf64>, %c: tensor<2x4xf32>, %d: tensor<2xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[concatenate_c1] 'stablehlo.concatenate' op operands must have one element type, but operand 0 has f32 and operand 1 has f64}}
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf64>) -> tensor<4x3xf32>
  // expected-error@+1 {{[concatenate_c2] 'stablehlo.concatenate' op operands may differ in dimension 0 only}}
  %1 = stablehlo.concatenate %a, %c, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[concatenate_c2]}}
  %2 = stablehlo.concatenate %a, %d, dim = 0 : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[concatenate_c3]}}
  %3 = "stablehlo.concatenate"() {dimension = 0 : i64} : () -> tensor<2x3xf32>
  // expected-error@+1 {{[concatenate_c4] 'stablehlo.concatenate' op dimension 2 is not one of tensor<2x3xf32>}}
  %4 = stablehlo.concatenate %a, %a, dim = 2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  func.return %a : tensor<2x3xf32>
}

func.func @bound(%a: tensor<?xf32, #stablehlo.bounds<2>>, %b: tensor<3x1xf32>, %c: tensor<?x1xf32, #stablehlo.bounds<2, ?>>) -> tensor<3x2xf32> {
  // expected-error@+1 {{[concatenate_c2]}}
  %0 = stablehlo.concatenate %b, %c, dim = 1 : (tensor<3x1xf32>, tensor<?x1xf32, #stablehlo.bounds<2, ?>>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

func.func @result(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[concatenate_c5]}}
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf64>
  // expected-error@+1 {{[concatenate_c6]}}
  %1 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return %a : tensor<2x3xf32>
}

func.func @too_large(%a: tensor<9223372036854775807xi8>) -> tensor<9223372036854775807xi8> {
  // expected-error@+1 {{[concatenate_c6] 'stablehlo.concatenate' op dimension 0 becomes too large}}
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<9223372036854775807xi8>, tensor<9223372036854775807xi8>) -> tensor<?xi8>
  func.return %a : tensor<9223372036854775807xi8>
}
