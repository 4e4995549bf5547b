func.func @tuples(%a: tensor<f32>, %t: !stablehlo.token) -> tensor<f32> {
  %0 = stablehlo.tuple %a, %t : tuple<tensor<f32>, !stablehlo.token>
  %1 = "stablehlo.tuple"(%0, %a) : (tuple<tensor<f32>, !stablehlo.token>, tensor<f32>) -> tuple<tuple<tensor<f32>, !stablehlo.token>, tensor<f32>>
  %2 = stablehlo.get_tuple_element %1[0] : (tuple<tuple<tensor<f32>, !stablehlo.token>, tensor<f32>>) -> tuple<tensor<f32>, !stablehlo.token>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<f32>, !stablehlo.token>) -> tensor<f32>
  func.return %3 : tensor<f32>
}

// -----

func.func @tuple(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{[tuple_c1]}}
  %0 = "stablehlo.tuple"(%a) : (tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
  func.return %a : tensor<f32>
}

func.func @get_tuple_element(%a: tuple<tensor<f32>>) -> tuple<tensor<f32>> {
  // expected-error@+1 {{[get_tuple_element_c1] 'stablehlo.get_tuple_element' op index must be in [0, 1), but has 1}}
  %0 = stablehlo.get_tuple_element %a[1] : (tuple<tensor<f32>>) -> tensor<f32>
  // expected-error@+1 {{[get_tuple_element_c1] 'stablehlo.get_tuple_element' op attribute 'index' must be non-negative, but is -1}}
  %1 = "stablehlo.get_tuple_element"(%a) {index = -1 : i32} : (tuple<tensor<f32>>) -> tensor<f32>
  // expected-error@+1 {{[get_tuple_element_c2]}}
  %2 = stablehlo.get_tuple_element %a[0] : (tuple<tensor<f32>>) -> tensor<f64>
  func.return %a : tuple<tensor<f32>>
}
