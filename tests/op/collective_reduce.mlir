// collective_reduce: the root alone gets the result, the others zeros.

func.func private @p(%x: tensor<i64>) -> tensor<i64> {
  %root = stablehlo.constant dense<[1]> : tensor<1xi32>
  %0 = "stablehlo.collective_reduce"(%x, %root) <{
    replica_groups = dense<[[0, 2, 1]]> : tensor<1x3xi64>,
    has_dynamic_root
  }> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.maximum %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<i64>, tensor<1xi32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

func.func @main() {
  %a = stablehlo.constant dense<9> : tensor<i64>
  %b = stablehlo.constant dense<20> : tensor<i64>
  %c = stablehlo.constant dense<3> : tensor<i64>
  %r:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@p], [@p], [@p]]}
    : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  check.expect_eq_const %r#0, dense<0> : tensor<i64>
  check.expect_eq_const %r#1, dense<0> : tensor<i64>
  check.expect_eq_const %r#2, dense<20> : tensor<i64>
  func.return
}
