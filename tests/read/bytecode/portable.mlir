// The program of the portable artifacts portable-V.bc, which jaxlib wrote at StableHLO V.
module @portable {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<2xi32>) -> (tensor<2x4xf32>, tensor<3xi32>, tensor<i32>) {
    %rows = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %weights = stablehlo.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0],
      [0.5, 0.5, 0.5, 0.5]]> : tensor<4x4xf32>
    %product = stablehlo.dot_general %rows, %weights, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
      : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %scaled = func.call @scale(%product) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sums = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    %order = stablehlo.iota dim = 0 : tensor<3xi32>
    %sorted:2 = "stablehlo.sort"(%sums, %order) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %less = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %count = stablehlo.while(%n = %one) : tensor<i32>
      cond {
        %go = stablehlo.compare LT, %n, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %next = stablehlo.multiply %n, %n : tensor<i32>
        %more = stablehlo.add %next, %one : tensor<i32>
        stablehlo.return %more : tensor<i32>
      }
    return %scaled, %sorted#1, %count : tensor<2x4xf32>, tensor<3xi32>, tensor<i32>
  }
  func.func private @scale(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %half = stablehlo.constant dense<0.5> : tensor<2x4xbf16>
    %wide = stablehlo.convert %half : (tensor<2x4xbf16>) -> tensor<2x4xf32>
    %small = stablehlo.exponential %wide {here = "kept", n = 3 : i64} : tensor<2x4xf32>
    %0 = stablehlo.multiply %arg0, %small : tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
