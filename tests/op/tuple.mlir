// Also: get_tuple_element
//
// tuple, get_tuple_element: tuples of tensors, tokens and tuples.

func.func @nested() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.tuple %a, %b : tuple<tensor<i32>, tensor<2xf32>>
  %1 = stablehlo.tuple %0, %t, %a : tuple<tuple<tensor<i32>, tensor<2xf32>>, !stablehlo.token, tensor<i32>>
  %2 = stablehlo.get_tuple_element %1[0]
    : (tuple<tuple<tensor<i32>, tensor<2xf32>>, !stablehlo.token, tensor<i32>>) -> tuple<tensor<i32>, tensor<2xf32>>
  %3 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<2xf32>
  %4 = stablehlo.get_tuple_element %1[2]
    : (tuple<tuple<tensor<i32>, tensor<2xf32>>, !stablehlo.token, tensor<i32>>) -> tensor<i32>
  check.expect_eq_const %3, dense<[2.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %4, dense<1> : tensor<i32>
  func.return
}
