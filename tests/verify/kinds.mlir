// What the operand and result columns of the table allow.

func.func @tokens(%t: !stablehlo.token) -> !stablehlo.token {
  %0 = stablehlo.after_all %t, %t : !stablehlo.token
  func.return %0 : !stablehlo.token
}

func.func @bounded(%a: tensor<4xf32>) -> tensor<?x2xf32, #stablehlo.bounds<2, ?>> {
  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?x2xf32, #stablehlo.bounds<2, ?>>
  func.return %0 : tensor<?x2xf32, #stablehlo.bounds<2, ?>>
}

// -----

func.func @class(%a: tensor<2xi32>) -> tensor<2xi32> {
  // expected-error@+1 {{operand 0 must be a tensor of floats, complex or quantized numbers, but is tensor<2xi32>}}
  %0 = stablehlo.sine %a : tensor<2xi32>
  func.return %0 : tensor<2xi32>
}

func.func @result(%a: tensor<2xf32>) -> tensor<2xi32> {
  // expected-error@+1 {{result 0 must be a tensor of i1, but is tensor<2xi32>}}
  %0 = stablehlo.is_finite %a : (tensor<2xf32>) -> tensor<2xi32>
  func.return %0 : tensor<2xi32>
}

func.func @unsigned(%a: tensor<2xui8>) -> tensor<2xui8> {
  // expected-error@+1 {{operand 0 must be a tensor of signed integers, floats, complex or quantized numbers}}
  %0 = stablehlo.sign %a : tensor<2xui8>
  func.return %0 : tensor<2xui8>
}

func.func @per_axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  // expected-error@+1 {{operand 0 must be a tensor of floats or quantized numbers}}
  %0 = stablehlo.floor %a : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return %0 : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}

func.func @ranked(%a: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 0 must be a tensor of floats}}
  %0 = "stablehlo.ceil"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  func.return %0 : tensor<*xf32>
}

func.func @scalar(%a: tensor<4xf32>, %v: tensor<1xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{operand 1 must be a 0-dimensional tensor, but is tensor<1xf32>}}
  %0 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

func.func @static(%a: tensor<?xi32>) -> tensor<?x2xf32> {
  // expected-error@+1 {{operand 0 must be a statically shaped 1-dimensional tensor of integers or index}}
  %0 = stablehlo.dynamic_iota %a, dim = 0 : (tensor<?xi32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}

func.func @two_unknown(%a: tensor<4xf32>) -> tensor<?x?xf32, #stablehlo.bounds<2, ?>> {
  // expected-error@+1 {{result 0 must be a statically shaped or single bounded dimension tensor}}
  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?x?xf32, #stablehlo.bounds<2, ?>>
  func.return %0 : tensor<?x?xf32, #stablehlo.bounds<2, ?>>
}

func.func @token(%t: !stablehlo.token) -> tensor<f32> {
  // expected-error@+1 {{operand 0 must be a tuple, but is !stablehlo.token}}
  %0 = stablehlo.get_tuple_element %t[0] : (!stablehlo.token) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func @too_few(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{needs 2 operands, but has 1}}
  %0 = "stablehlo.add"(%a) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func @too_many(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error@+1 {{needs 1 results, but has 2}}
  %0:2 = "stablehlo.abs"(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

func.func @groups(%a: tensor<2xf32>, %b: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{3 operands do not divide into 'tensor* tensor*'}}
  %0 = "stablehlo.reduce"(%a, %a, %b) ({
  ^body(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
