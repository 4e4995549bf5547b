// A running sum and a running maximum in one scan, from the end.
func.func @reverse() {
  %x = stablehlo.constant dense<[[1, 4], [3, 2], [2, 9]]> : tensor<3x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %0:4 = chlo.scan(%x) inits(%zero, %zero) dimension=0 attributes {is_reverse = true} {
  ^bb0(%row: tensor<2xi32>, %sum: tensor<2xi32>, %max: tensor<2xi32>):
    %s = stablehlo.add %sum, %row : tensor<2xi32>
    %m = stablehlo.maximum %max, %row : tensor<2xi32>
    stablehlo.return %s, %m, %s, %m : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  } : (tensor<3x2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<3x2xi32>, tensor<3x2xi32>, tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[6, 15], [5, 11], [2, 9]]> : tensor<3x2xi32>
  check.expect_eq_const %0#1, dense<[[3, 9], [3, 9], [2, 9]]> : tensor<3x2xi32>
  check.expect_eq_const %0#2, dense<[6, 15]> : tensor<2xi32>
  check.expect_eq_const %0#3, dense<[3, 9]> : tensor<2xi32>
  return
}
