// Also: partition_id
//
// replica_id, partition_id: the place in the grid; alone, (0, 0).

func.func private @p() -> (tensor<ui32>, tensor<ui32>) {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.partition_id : tensor<ui32>
  func.return %0, %1 : tensor<ui32>, tensor<ui32>
}

func.func @grid() {
  %r:12 = "interpreter.run_parallel"() {programs = [[@p, @p, @p], [@p, @p, @p]]}
    : () -> (tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>,
             tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>)
  check.expect_eq_const %r#4, dense<0> : tensor<ui32>
  check.expect_eq_const %r#5, dense<2> : tensor<ui32>
  check.expect_eq_const %r#8, dense<1> : tensor<ui32>
  check.expect_eq_const %r#9, dense<1> : tensor<ui32>
  func.return
}

func.func @alone() {
  %r:2 = func.call @p() : () -> (tensor<ui32>, tensor<ui32>)
  check.expect_eq_const %r#0, dense<0> : tensor<ui32>
  check.expect_eq_const %r#1, dense<0> : tensor<ui32>
  func.return
}
