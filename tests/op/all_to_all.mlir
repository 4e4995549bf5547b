// all_to_all: splits along one dimension, concatenates along another.

func.func private @p(%x: tensor<2x4xi64>) -> tensor<4x2xi64> {
  %0 = "stablehlo.all_to_all"(%x) <{
    split_dimension = 1 : i64,
    concat_dimension = 0 : i64,
    split_count = 2 : i64,
    replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>
  }> : (tensor<2x4xi64>) -> tensor<4x2xi64>
  func.return %0 : tensor<4x2xi64>
}

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi64>
  %b = stablehlo.constant dense<[[9, 10, 11, 12], [13, 14, 15, 16]]> : tensor<2x4xi64>
  %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@p], [@p]]}
    : (tensor<2x4xi64>, tensor<2x4xi64>) -> (tensor<4x2xi64>, tensor<4x2xi64>)
  check.expect_eq_const %r#0, dense<[[11, 12], [15, 16], [3, 4], [7, 8]]> : tensor<4x2xi64>
  check.expect_eq_const %r#1, dense<[[9, 10], [13, 14], [1, 2], [5, 6]]> : tensor<4x2xi64>
  func.return
}
