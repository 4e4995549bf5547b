// Inherent attributes: presence, form, range.

func.func @older_list(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = "stablehlo.transpose"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

func.func @others_are_free(%a: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.abs"(%a) {note = "anything", level = 3 : i8} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

func.func @missing(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{requires attribute 'permutation'}}
  %0 = "stablehlo.transpose"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

func.func @list(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{attribute 'permutation' must be a list of 64-bit integers}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

func.func @width() -> tensor<3xf32> {
  // expected-error@+1 {{attribute 'iota_dimension' must be a 64-bit integer}}
  %0 = "stablehlo.iota"() {iota_dimension = 0 : i32} : () -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

func.func @enumeration(%a: tensor<f32>) -> tensor<i1> {
  // expected-error@+1 {{attribute 'comparison_direction' must be a case of its enumeration}}
  %0 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<fft_type FFT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

func.func @elements() -> tensor<i32> {
  // expected-error@+1 {{attribute 'value' must be a constant tensor}}
  %0 = "stablehlo.constant"() {value = 3 : i32} : () -> tensor<i32>
  func.return %0 : tensor<i32>
}

func.func @symbol(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{attribute 'callee' must be the name of a symbol}}
  %0 = "func.call"(%a) {callee = "symbol"} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func @boolean(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{attribute 'is_stable' must be true or false}}
  %0 = "stablehlo.sort"(%a) ({
  ^body(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @negative(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[concatenate_c4] 'stablehlo.concatenate' op attribute 'dimension' must be non-negative, but is -1}}
  %0 = "stablehlo.concatenate"(%a) {dimension = -1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @no_exponent(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[reduce_precision_c2] 'stablehlo.reduce_precision' op attribute 'exponent_bits' must be positive, but is 0}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 0 : i32, mantissa_bits = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @negative_mantissa(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[reduce_precision_c3] 'stablehlo.reduce_precision' op attribute 'mantissa_bits' must be non-negative, but is -1}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 5 : i32, mantissa_bits = -1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
