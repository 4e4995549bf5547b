// Also: unary_einsum

func.func @products() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
  %0 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[19, 22], [43, 50]]> : tensor<2x2xi32>
  %1 = stablehlo.einsum %a, %b, config = "ab,ab->ba" : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[5, 21], [12, 32]]> : tensor<2x2xi32>
  %2 = stablehlo.unary_einsum %a, config = "aa->" : (tensor<2x2xi32>) -> tensor<i32>
  check.expect_eq_const %2, dense<5> : tensor<i32>
  return
}
