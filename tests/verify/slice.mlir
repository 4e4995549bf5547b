func.func @slice(%a: tensor<8x?x?xf32, #stablehlo.bounds<?, ?, 4>>) -> tensor<3x2x4xf32> {
  %0 = stablehlo.slice %a [1:8:3, 0:2, 0:4] : (tensor<8x?x?xf32, #stablehlo.bounds<?, ?, 4>>) -> tensor<3x2x4xf32>
  func.return %0 : tensor<3x2x4xf32>
}

// -----

func.func @slice(%a: tensor<8xf32>, %b: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<8xf32> {
  // expected-error@+1 {{[slice_c1] 'stablehlo.slice' op operand and result must have one element type}}
  %0 = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf64>
  // expected-error@+1 {{[slice_c2] 'stablehlo.slice' op start_indices must have 1 elements, but has 2}}
  %1 = stablehlo.slice %a [0:4, 0:4] : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[slice_c2] 'stablehlo.slice' op strides must have 1 elements, but has 2}}
  %2 = "stablehlo.slice"(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 1, 1>} : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[slice_c3] 'stablehlo.slice' op 0 <= start <= limit <= size must hold, but dimension 0 of size 8 is sliced from -1 to 4}}
  %3 = "stablehlo.slice"(%a) {start_indices = array<i64: -1>, limit_indices = array<i64: 4>, strides = array<i64: 1>} : (tensor<8xf32>) -> tensor<5xf32>
  // expected-error@+1 {{[slice_c3]}}
  %4 = stablehlo.slice %a [5:4] : (tensor<8xf32>) -> tensor<0xf32>
  // expected-error@+1 {{[slice_c3]}}
  %5 = stablehlo.slice %a [0:9] : (tensor<8xf32>) -> tensor<9xf32>
  // expected-error@+1 {{[slice_c3] 'stablehlo.slice' op 0 <= start <= limit <= size must hold, but dimension 0 of size 4 is sliced from 0 to 5}}
  %6 = stablehlo.slice %b [0:5] : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32>
  // expected-error@+1 {{[slice_c4] 'stablehlo.slice' op strides must be positive, but dimension 0 has 0}}
  %7 = stablehlo.slice %a [0:4:0] : (tensor<8xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[slice_c5] 'stablehlo.slice' op result 0 has the inferred type tensor<3xf32>}}
  %8 = stablehlo.slice %a [0:5:2] : (tensor<8xf32>) -> tensor<2xf32>
  func.return %a : tensor<8xf32>
}
