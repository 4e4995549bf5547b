func.func @ids() -> tensor<ui32> {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.partition_id : tensor<ui32>
  func.return %1 : tensor<ui32>
}

// -----

func.func @ids() {
  // expected-error@+1 {{result 0 has the inferred type tensor<ui32>}}
  %0 = stablehlo.replica_id : tensor<1xui32>
  // expected-error@+1 {{result 0 must be a tensor of ui32}}
  %1 = stablehlo.partition_id : tensor<i32>
  func.return
}
