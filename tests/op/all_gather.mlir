// all_gather: in the order of the group, along any dimension.

func.func private @p(%x: tensor<1x2xi64>, %y: tensor<2xf32>) -> (tensor<3x2xi64>, tensor<6xf32>) {
  %0:2 = "stablehlo.all_gather"(%x, %y) <{
    all_gather_dim = 0 : i64,
    replica_groups = dense<[[2, 0, 1]]> : tensor<1x3xi64>
  }> : (tensor<1x2xi64>, tensor<2xf32>) -> (tensor<3x2xi64>, tensor<6xf32>)
  func.return %0#0, %0#1 : tensor<3x2xi64>, tensor<6xf32>
}

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
  %b = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi64>
  %c = stablehlo.constant dense<[[5, 6]]> : tensor<1x2xi64>
  %f = stablehlo.constant dense<[0.5, 1.5]> : tensor<2xf32>
  %r:6 = "interpreter.run_parallel"(%a, %f, %b, %f, %c, %f) {
    programs = [[@p], [@p], [@p]]
  } : (tensor<1x2xi64>, tensor<2xf32>, tensor<1x2xi64>, tensor<2xf32>, tensor<1x2xi64>, tensor<2xf32>)
    -> (tensor<3x2xi64>, tensor<6xf32>, tensor<3x2xi64>, tensor<6xf32>, tensor<3x2xi64>, tensor<6xf32>)
  check.expect_eq_const %r#0, dense<[[5, 6], [1, 2], [3, 4]]> : tensor<3x2xi64>
  check.expect_eq_const %r#4, dense<[[5, 6], [1, 2], [3, 4]]> : tensor<3x2xi64>
  check.expect_eq_const %r#5, dense<[0.5, 1.5, 0.5, 1.5, 0.5, 1.5]> : tensor<6xf32>
  func.return
}
