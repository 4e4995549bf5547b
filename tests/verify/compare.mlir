func.func @compare(%a: tensor<2xui8>, %b: tensor<2xf32>, %c: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi1> {
  %0 = stablehlo.compare LT, %a, %a, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  %1 = stablehlo.compare GE, %b, %b, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %2 = stablehlo.compare EQ, %c, %c : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi1>
  %3 = stablehlo.compare NE, %0, %1, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return %3 : tensor<2xi1>
}

// -----

func.func @elements(%a: tensor<2xf32>, %b: tensor<2xi32>) -> tensor<2xi1> {
  // expected-error@+1 {{[compare_c1]}}
  %0 = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  func.return %0 : tensor<2xi1>
}

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xi1> {
  // expected-error@+1 {{[compare_c2]}}
  %0 = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  func.return %0 : tensor<2xi1>
}

func.func @result(%a: tensor<2xf32>) -> tensor<3xi1> {
  // expected-error@+1 {{[compare_c2]}}
  %0 = stablehlo.compare LT, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

func.func @types(%a: tensor<2xf32>, %b: tensor<2xi32>) -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = stablehlo.compare LT, %a, %a, SIGNED : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // expected-error@+1 {{[compare_c3] 'stablehlo.compare' op elements of type i32 cannot be compared as TOTALORDER}}
  %1 = stablehlo.compare LT, %b, %b, TOTALORDER : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  func.return %0, %1 : tensor<2xi1>, tensor<2xi1>
}
