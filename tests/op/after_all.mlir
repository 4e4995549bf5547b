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
