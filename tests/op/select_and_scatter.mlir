// The gradient of a maximum pool: each source value goes to the largest element of its window; ties take the first.
func.func @max_pool_gradient() {
  %x = stablehlo.constant dense<[[1, 5, 2, 2], [3, 4, 2, 2], [7, 0, 9, 1], [0, 7, 1, 0]]> : tensor<4x4xi32>
  %source = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %source, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<2x2xi32>, tensor<i32>) -> tensor<4x4xi32>
  check.expect_eq_const %0, dense<[[0, 10, 20, 0], [0, 0, 0, 0], [30, 0, 40, 0], [0, 0, 0, 0]]> : tensor<4x4xi32>
  return
}

// -----

// Overlapping windows add up; padding is never chosen.
func.func @overlap() {
  %x = stablehlo.constant dense<[-3.0, -1.0, -2.0]> : tensor<3xf32>
  %source = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %init = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %source, %init) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<[0.5, 7.5, 0.5]> : tensor<3xf32>
  return
}
