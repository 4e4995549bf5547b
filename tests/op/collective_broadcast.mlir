// collective_broadcast: from the first of the group or a root given at run time; zeros for who is in no group.

func.func private @p(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.collective_broadcast"(%x) <{
    replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>
  }> : (tensor<2xi64>) -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

func.func private @q(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %y = stablehlo.negate %x : tensor<2xi64>
  %root = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %0:2 = "stablehlo.collective_broadcast"(%x, %y, %root) <{
    replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>,
    has_dynamic_root
  }> : (tensor<2xi64>, tensor<2xi64>, tensor<2xi32>) -> (tensor<2xi64>, tensor<2xi64>)
  func.return %0#0, %0#1 : tensor<2xi64>, tensor<2xi64>
}

func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %c = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
  %r:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@p], [@p], [@p]]}
    : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[5, 6]> : tensor<2xi64>
  check.expect_eq_const %r#2, dense<[5, 6]> : tensor<2xi64>
  %s:6 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@q], [@q], [@q]]}
    : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
    -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %s#2, dense<[5, 6]> : tensor<2xi64>
  check.expect_eq_const %s#5, dense<[-1, -2]> : tensor<2xi64>
  func.return
}
