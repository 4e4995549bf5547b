// Also: create_token optimization_barrier
//
// create_token, after_all, optimization_barrier: order without values, and values passed on as they are.

func.func @order() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all : !stablehlo.token
  %2 = stablehlo.after_all %0, %1 : !stablehlo.token
  %3:2 = stablehlo.optimization_barrier %x, %2 : tensor<2xi64>, !stablehlo.token
  %4 = stablehlo.add %3#0, %x : tensor<2xi64>
  check.expect_eq_const %4, dense<[2, 4]> : tensor<2xi64>
  func.return
}

// Results of several shapes, used in kernels.
func.func @barrier_of_two() {
  %a = stablehlo.constant dense<2> : tensor<i32>
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.add %x, %x : tensor<2x3xi32>
  %0:3 = stablehlo.optimization_barrier %a, %x, %y : tensor<i32>, tensor<2x3xi32>, tensor<2x3xi32>
  %1 = stablehlo.negate %0#0 : tensor<i32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
  %3 = stablehlo.multiply %0#1, %2 : tensor<2x3xi32>
  %4 = stablehlo.subtract %3, %0#2 : tensor<2x3xi32>
  check.expect_eq_const %4, dense<[[-4, -8, -12], [-16, -20, -24]]> : tensor<2x3xi32>
  func.return
}
