func.func @dynamic_update_slice(%a: tensor<4x?xf32>, %u: tensor<2x3xf32>, %i: tensor<ui8>) -> tensor<4x?xf32> {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4x?xf32>, tensor<2x3xf32>, tensor<ui8>, tensor<ui8>) -> tensor<4x?xf32>
  func.return %0 : tensor<4x?xf32>
}

// -----

func.func @dynamic_update_slice(%a: tensor<4xf32>, %u: tensor<2xf32>, %v: tensor<2xf64>, %w: tensor<2x1xf32>, %i: tensor<i64>) -> tensor<4xf32> {
  // expected-error@+1 {{[dynamic_update_slice_c1] 'stablehlo.dynamic_update_slice' op operand and result must have one element type}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i64>) -> tensor<4xf64>
  // expected-error@+1 {{[dynamic_update_slice_c1] 'stablehlo.dynamic_update_slice' op result 0 has the inferred type tensor<4xf32>}}
  %1 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i64>) -> tensor<5xf32>
  // expected-error@+1 {{[dynamic_update_slice_c2]}}
  %2 = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<4xf32>, tensor<2xf64>, tensor<i64>) -> tensor<4xf32>
  // expected-error@+1 {{[dynamic_update_slice_c3]}}
  %3 = stablehlo.dynamic_update_slice %a, %w, %i : (tensor<4xf32>, tensor<2x1xf32>, tensor<i64>) -> tensor<4xf32>
  // expected-error@+1 {{[dynamic_update_slice_c4]}}
  %4 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  // expected-error@+1 {{[dynamic_update_slice_c6] 'stablehlo.dynamic_update_slice' op update dimension 0 of size 4 does not fit the operand's of size 2}}
  %5 = stablehlo.dynamic_update_slice %u, %a, %i : (tensor<2xf32>, tensor<4xf32>, tensor<i64>) -> tensor<2xf32>
  func.return %a : tensor<4xf32>
}

func.func @start_indices(%a: tensor<4x4xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{[dynamic_update_slice_c5]}}
  %0 = stablehlo.dynamic_update_slice %a, %a, %i, %j : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i64>, tensor<i32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}
