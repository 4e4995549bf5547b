// Dots whose result is read in another order: the transpose is an epilogue where the lanes stay contiguous (the first two), and a
// kernel of its own elsewhere (the third). All numbers are small integers, so that sums are exact.
func.func @main() {
  %a0 = stablehlo.constant dense<1.0> : tensor<2x3x5x8xf32>
  %b0 = stablehlo.constant dense<2.0> : tensor<2x8x5x16xf32>
  %ai = stablehlo.iota dim = 1 : tensor<2x3x5x8xf32>
  %aj = stablehlo.iota dim = 3 : tensor<2x3x5x8xf32>
  %bi = stablehlo.iota dim = 3 : tensor<2x8x5x16xf32>
  %bj = stablehlo.iota dim = 2 : tensor<2x8x5x16xf32>
  %a1 = stablehlo.add %ai, %aj : tensor<2x3x5x8xf32>
  %b1 = stablehlo.subtract %bi, %bj : tensor<2x8x5x16xf32>
  %a = stablehlo.add %a0, %a1 : tensor<2x3x5x8xf32>
  %b = stablehlo.add %b0, %b1 : tensor<2x8x5x16xf32>
  %ab = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2, 4] : (tensor<2x3x5x8xf32>) -> tensor<2x3x5x16x8xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [0, 4, 2, 3] : (tensor<2x8x5x16xf32>) -> tensor<2x3x5x16x8xf32>
  %p = stablehlo.multiply %ab, %bb : tensor<2x3x5x16x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %want = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [4]
          : (tensor<2x3x5x16x8xf32>, tensor<f32>) -> tensor<2x3x5x16xf32>
  %d = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [1]
       : (tensor<2x3x5x8xf32>, tensor<2x8x5x16xf32>) -> tensor<2x5x3x16xf32>
  %r = stablehlo.transpose %d, dims = [0, 2, 1, 3] : (tensor<2x5x3x16xf32>) -> tensor<2x3x5x16xf32>
  check.expect_eq %r, %want : tensor<2x3x5x16xf32>
  %e = stablehlo.dot_general %b, %a, batching_dims = [0, 2] x [0, 2], contracting_dims = [1] x [3]
       : (tensor<2x8x5x16xf32>, tensor<2x3x5x8xf32>) -> tensor<2x5x16x3xf32>
  %s = stablehlo.transpose %e, dims = [0, 3, 1, 2] : (tensor<2x5x16x3xf32>) -> tensor<2x3x5x16xf32>
  check.expect_eq %s, %want : tensor<2x3x5x16xf32>
  %aa = stablehlo.add %a, %a : tensor<2x3x5x8xf32>
  %f = stablehlo.dot_general %aa, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [1]
       : (tensor<2x3x5x8xf32>, tensor<2x8x5x16xf32>) -> tensor<2x5x3x16xf32>
  %ww = stablehlo.add %want, %want : tensor<2x3x5x16xf32>
  %back = stablehlo.transpose %f, dims = [3, 1, 2, 0] : (tensor<2x5x3x16xf32>) -> tensor<16x5x3x2xf32>
  %wback = stablehlo.transpose %ww, dims = [3, 2, 1, 0] : (tensor<2x3x5x16xf32>) -> tensor<16x5x3x2xf32>
  check.expect_eq %back, %wback : tensor<16x5x3x2xf32>
  return
}
