!q = !quant.uniform<i8:f32, 0.5:1>
!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>
!x1 = !quant.uniform<i8:f32:1, {0.5:1, 0.25:2}>
!s0 = !quant.uniform<i8:f32:0, {0.5:1}>
!s1 = !quant.uniform<i8:f32:1, {0.5:1, 0.5:1}>

func.func @numbers(%a: tensor<1x3xf32>) -> tensor<3x4x2xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<1x3xf32>) -> tensor<3x4x2xf32>
  func.return %0 : tensor<3x4x2xf32>
}

func.func @quantized(%a: tensor<2x!x0>, %b: tensor<1x!s0>, %c: tensor<2x!q>) -> tensor<3x2x!x1> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!x0>) -> tensor<3x2x!x1>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1x!s0>) -> tensor<3x2x!s1>
  %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2x!q>) -> tensor<3x2x!q>
  func.return %0 : tensor<3x2x!x1>
}

// -----

!q = !quant.uniform<i8:f32, 0.5:1>
!p = !quant.uniform<i8:f32, 0.25:1>
!x0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>
!y0 = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2, 0.5:1}>
!s0 = !quant.uniform<i8:f32:0, {0.5:1}>
!t1 = !quant.uniform<i8:f32:1, {0.5:1, 0.25:1}>
!u1 = !quant.uniform<i8:f32:1, {0.5:1, 0.5:2}>

func.func @elements(%a: tensor<2xf32>, %b: tensor<2x!q>) -> tensor<2xf32> {
  // expected-error@+1 {{[broadcast_in_dim_c1] 'stablehlo.broadcast_in_dim' op operand and result must have compatible element types}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf64>
  // expected-error@+1 {{[broadcast_in_dim_c1] 'stablehlo.broadcast_in_dim' op operand and result must have the same scales and zero points}}
  %1 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<2x!q>) -> tensor<2x3x!p>
  func.return %a : tensor<2xf32>
}

func.func @dimensions(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{[broadcast_in_dim_c2] 'stablehlo.broadcast_in_dim' op broadcast_dimensions must have 2 elements, but has 1}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[broadcast_in_dim_c3] 'stablehlo.broadcast_in_dim' op broadcast_dimensions must be in [0, 2), but has 2}}
  %1 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[broadcast_in_dim_c3]}}
  %2 = stablehlo.broadcast_in_dim %a, dims = [-1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[broadcast_in_dim_c4] 'stablehlo.broadcast_in_dim' op broadcast_dimensions must not have duplicates, but has 1 twice}}
  %3 = stablehlo.broadcast_in_dim %a, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[broadcast_in_dim_c5] 'stablehlo.broadcast_in_dim' op operand dimension 0 of size 2 cannot be broadcast to result dimension 1 of size 4}}
  %4 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x4xf32>
  // expected-error@+1 {{[broadcast_in_dim_c5] 'stablehlo.broadcast_in_dim' op operand dimension 0 of size 2 cannot be broadcast to one of unknown size}}
  %5 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<?x3xf32, #stablehlo.bounds<4, ?>>
  func.return %a : tensor<2x3xf32>
}

func.func @axes(%a: tensor<2x!x0>, %b: tensor<1x!s0>) -> tensor<2x!x0> {
  // expected-error@+1 {{[broadcast_in_dim_c6] 'stablehlo.broadcast_in_dim' op the result is quantized along dimension 0, but the operand's axis goes to dimension 1}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!x0>) -> tensor<3x2x!y0>
  // expected-error@+1 {{[broadcast_in_dim_c6] 'stablehlo.broadcast_in_dim' op scale 1 of the result must be 0.5, but is 0.25}}
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1x!s0>) -> tensor<3x2x!t1>
  // expected-error@+1 {{[broadcast_in_dim_c6] 'stablehlo.broadcast_in_dim' op zero point 1 of the result must be 1, but is 2}}
  %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1x!s0>) -> tensor<3x2x!u1>
  func.return %a : tensor<2x!x0>
}
