// Ops whose operands and results have one type, and what may differ in it.

func.func @dynamic(%a: tensor<?x3xf32>, %b: tensor<2x?xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.multiply %a, %b : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @quantized(%a: tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
  %0 = stablehlo.tanh %a : (tensor<2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.25>>
}

func.func @bounded(%a: tensor<?xf32, #stablehlo.bounds<4>>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.maximum %a, %b : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

func.func @unranked(%a: tensor<*xf32>) -> tensor<2xf32> {
  %0 = chlo.erf %a : tensor<*xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @sizes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[multiply_c1] 'stablehlo.multiply' op operands and results must have compatible types, but have tensor<2xf32> and tensor<3xf32>}}
  %0 = stablehlo.multiply %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @ranks(%a: tensor<2xf32>) -> tensor<2x1xf32> {
  // expected-error@+1 {{[cosine_c1]}}
  %0 = stablehlo.cosine %a : (tensor<2xf32>) -> tensor<2x1xf32>
  func.return %0 : tensor<2x1xf32>
}

func.func @elements(%a: tensor<2xi32>) -> tensor<2xi64> {
  // expected-error@+1 {{[negate_c1]}}
  %0 = stablehlo.negate %a : (tensor<2xi32>) -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

func.func @storage(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
  // expected-error@+1 {{[logistic_c1]}}
  %0 = stablehlo.logistic %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<2x!quant.uniform<u8:f32, 0.5>>
}

func.func @bound(%a: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32> {
  // expected-error@+1 {{[sine_c1]}}
  %0 = stablehlo.sine %a : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

func.func @no_label_without_a_specification(%a: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'chlo.erf' op operands and results must have compatible types}}
  %0 = chlo.erf %a : tensor<2xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

func.func @unary_floats(%a: tensor<2xf32>) {
  // expected-error@+1 {{[cbrt_c1]}}
  %0 = stablehlo.cbrt %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[ceil_c1]}}
  %1 = stablehlo.ceil %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[exponential_c1]}}
  %2 = stablehlo.exponential %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[exponential_minus_one_c1]}}
  %3 = stablehlo.exponential_minus_one %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[floor_c1]}}
  %4 = stablehlo.floor %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[log_c1]}}
  %5 = stablehlo.log %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[log_plus_one_c1]}}
  %6 = stablehlo.log_plus_one %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[round_nearest_afz_c1]}}
  %7 = stablehlo.round_nearest_afz %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[round_nearest_even_c1]}}
  %8 = stablehlo.round_nearest_even %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[rsqrt_c1]}}
  %9 = stablehlo.rsqrt %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[sign_c1]}}
  %10 = stablehlo.sign %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[sqrt_c1]}}
  %11 = stablehlo.sqrt %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[tan_c1]}}
  %12 = stablehlo.tan %a : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[tanh_c1]}}
  %13 = stablehlo.tanh %a : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @unary_integers(%a: tensor<2xi32>) {
  // expected-error@+1 {{[count_leading_zeros_c1]}}
  %0 = stablehlo.count_leading_zeros %a : (tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[not_c1]}}
  %1 = stablehlo.not %a : (tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[popcnt_c1]}}
  %2 = stablehlo.popcnt %a : (tensor<2xi32>) -> tensor<3xi32>
  func.return
}

// -----

func.func @binary_floats(%a: tensor<2xf32>) {
  // expected-error@+1 {{[atan2_c1]}}
  %0 = stablehlo.atan2 %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[divide_c1]}}
  %1 = stablehlo.divide %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[maximum_c1]}}
  %2 = stablehlo.maximum %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[minimum_c1]}}
  %3 = stablehlo.minimum %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[power_c1]}}
  %4 = stablehlo.power %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[remainder_c1]}}
  %5 = stablehlo.remainder %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error@+1 {{[subtract_c1]}}
  %6 = stablehlo.subtract %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @binary_integers(%a: tensor<2xi32>) {
  // expected-error@+1 {{[and_c1]}}
  %0 = stablehlo.and %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[or_c1]}}
  %1 = stablehlo.or %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[xor_c1]}}
  %2 = stablehlo.xor %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[shift_left_c1]}}
  %3 = stablehlo.shift_left %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[shift_right_arithmetic_c1]}}
  %4 = stablehlo.shift_right_arithmetic %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  // expected-error@+1 {{[shift_right_logical_c1]}}
  %5 = stablehlo.shift_right_logical %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<3xi32>
  func.return
}
