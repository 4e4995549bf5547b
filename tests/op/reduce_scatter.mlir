// reduce_scatter: each process gets its part of the sum.

func.func private @p(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %0 = "stablehlo.reduce_scatter"(%x) <{
    scatter_dimension = 1 : i64,
    replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %b = stablehlo.constant dense<10.0> : tensor<2x4xf32>
  %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@p], [@p]]}
    : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  check.expect_eq_const %r#0, dense<[[13.0, 14.0], [17.0, 18.0]]> : tensor<2x2xf32>
  check.expect_eq_const %r#1, dense<[[11.0, 12.0], [15.0, 16.0]]> : tensor<2x2xf32>
  func.return
}
