// Sizes that are known go through; the function keeps its type.
func.func @f(%x: tensor<2x3xf32>) -> tensor<?xf32> {
  %0 = tensor.cast %x : tensor<2x3xf32> to tensor<?x3xf32>
  %1 = stablehlo.add %0, %0 : tensor<?x3xf32>
  %2 = stablehlo.exponential %1 : tensor<?x3xf32>
  %3 = stablehlo.get_dimension_size %2, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %n = stablehlo.constant dense<[6]> : tensor<1xi32>
  %4 = stablehlo.dynamic_reshape %2, %n : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %4 : tensor<?xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2x3xf32>) -> tensor<?xf32> {
    %0 = tensor.cast %arg0 : tensor<2x3xf32> to tensor<?x3xf32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
    %2 = tensor.cast %1 : tensor<2x3xf32> to tensor<?x3xf32>
    %3 = stablehlo.exponential %1 : tensor<2x3xf32>
    %4 = tensor.cast %3 : tensor<2x3xf32> to tensor<?x3xf32>
    %5 = stablehlo.constant dense<2> : tensor<i32>
    %6 = stablehlo.constant dense<6> : tensor<1xi32>
    %7 = stablehlo.reshape %3 : (tensor<2x3xf32>) -> tensor<6xf32>
    %8 = tensor.cast %7 : tensor<6xf32> to tensor<?xf32>
    return %8 : tensor<?xf32>
  }
}
// -----
// Dynamic forms of known sizes.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %n = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1] : (tensor<2xi32>, tensor<2xi64>) -> tensor<3x2xi32>
  %1 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi32>
  %2 = stablehlo.add %0, %1 : tensor<3x2xi32>
  check.expect_eq_const %2, dense<[[1, 2], [2, 3], [3, 4]]> : tensor<3x2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xi32>) -> tensor<3x2xi32>
    %3 = stablehlo.iota dim = 0 : tensor<3x2xi32>
    %4 = stablehlo.add %2, %3 : tensor<3x2xi32>
    check.expect_eq_const %4, dense<[[1, 2], [2, 3], [3, 4]]> : tensor<3x2xi32>
    return
  }
}
// -----
// RUN: -O1
// Alternating with folding: a size is computed from a size.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.optimization_barrier %x : tensor<2x3xi32>
  %0 = tensor.cast %y : tensor<2x3xi32> to tensor<?x?xi32>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x?xi32>) -> tensor<i32>
  %2 = stablehlo.get_dimension_size %0, dim = 1 : (tensor<?x?xi32>) -> tensor<i32>
  %3 = stablehlo.multiply %1, %2 : tensor<i32>
  %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
  %5 = stablehlo.dynamic_reshape %0, %4 : (tensor<?x?xi32>, tensor<1xi32>) -> tensor<?xi32>
  %6 = tensor.cast %5 : tensor<?xi32> to tensor<6xi32>
  check.expect_eq_const %6, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.optimization_barrier %0 : tensor<2x3xi32>
    %2 = stablehlo.reshape %1 : (tensor<2x3xi32>) -> tensor<6xi32>
    check.expect_eq_const %2, dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
    return
  }
}
// -----
// Dynamic forms of constants: pad, slice, gather, convolution.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<[0, -1]> : tensor<2xi64>
  %high = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %inside = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
  %0 = stablehlo.dynamic_pad %x, %z, %low, %high, %inside : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x4xi32>
  %start = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %limit = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %stride = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  %index = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %2 = "stablehlo.dynamic_gather"(%x, %index, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xi32>
  %image = stablehlo.constant dense<1.0> : tensor<1x3x3x1xf32>
  %kernel = stablehlo.constant dense<1.0> : tensor<2x2x1x1xf32>
  %pads = stablehlo.constant dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>
  %3 = "stablehlo.dynamic_conv"(%image, %kernel, %pads) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>, tensor<2x2xi64>) -> tensor<1x2x3x1xf32>
  check.expect_eq_const %0, dense<[[0, 2, 0, 3], [0, 5, 0, 6], [0, 0, 0, 0]]> : tensor<3x4xi32>
  check.expect_eq_const %1, dense<[[4, 6]]> : tensor<1x2xi32>
  check.expect_eq_const %2, dense<[[4, 5, 6], [1, 2, 3]]> : tensor<2x3xi32>
  check.expect_eq_const %3, dense<[[[[2.0], [4.0], [4.0]], [[2.0], [4.0], [4.0]]]]> : tensor<1x2x3x1xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<[0, -1]> : tensor<2xi64>
    %3 = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
    %4 = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %5 = stablehlo.pad %0, %1, low = [0, -1], high = [1, 0], interior = [0, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3x4xi32>
    %6 = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %7 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
    %8 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %9 = stablehlo.slice %0 [1:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
    %10 = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
    %11 = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
    %12 = "stablehlo.gather"(%0, %10) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
    %13 = stablehlo.constant dense<1.000000e+00> : tensor<1x3x3x1xf32>
    %14 = stablehlo.constant dense<1.000000e+00> : tensor<2x2x1x1xf32>
    %15 = stablehlo.constant dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>
    %16 = stablehlo.convolution(%13, %14) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [1, 0]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x1xf32>
    check.expect_eq_const %5, dense<[[0, 2, 0, 3], [0, 5, 0, 6], [0, 0, 0, 0]]> : tensor<3x4xi32>
    check.expect_eq_const %9, dense<[[4, 6]]> : tensor<1x2xi32>
    check.expect_eq_const %12, dense<[[4, 5, 6], [1, 2, 3]]> : tensor<2x3xi32>
    check.expect_eq_const %16, dense<[[[[2.000000e+00], [4.000000e+00], [4.000000e+00]], [[2.000000e+00], [4.000000e+00], [4.000000e+00]]]]> : tensor<1x2x3x1xf32>
    return
  }
}
// -----
// Several results, regions, branches whose results have one size.
func.func @f(%x: tensor<2x3xf32>, %p: tensor<i1>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = tensor.cast %x : tensor<2x3xf32> to tensor<?x?xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
  %2 = "stablehlo.if"(%p) ({
    stablehlo.return %1 : tensor<?xf32>
  }, {
    %n = stablehlo.negate %1 : tensor<?xf32>
    stablehlo.return %n : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  %3 = stablehlo.sqrt %2 : tensor<?xf32>
  return %2, %3 : tensor<?xf32>, tensor<?xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<i1>) -> (tensor<?xf32>, tensor<?xf32>) {
    %0 = tensor.cast %arg0 : tensor<2x3xf32> to tensor<?x?xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = tensor.cast %2 : tensor<2xf32> to tensor<?xf32>
    %4 = "stablehlo.if"(%arg1) ({
      stablehlo.return %2 : tensor<2xf32>
    }, {
      %5 = stablehlo.negate %2 : tensor<2xf32>
      %6 = tensor.cast %5 : tensor<2xf32> to tensor<?xf32>
      stablehlo.return %5 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    %7 = tensor.cast %4 : tensor<2xf32> to tensor<?xf32>
    %8 = stablehlo.sqrt %4 : tensor<2xf32>
    %9 = tensor.cast %8 : tensor<2xf32> to tensor<?xf32>
    return %7, %9 : tensor<?xf32>, tensor<?xf32>
  }
}
// -----
// What exporters call.
func.func @g(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xi32>, tensor<?xui32>, tensor<?x4xui8>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %k = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %size = stablehlo.constant dense<4> : tensor<1xi32>
  %pad = stablehlo.constant dense<[[3, 0]]> : tensor<1x2xi32>
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  stablehlo.custom_call @shape_assertion(%p) {error_message = "no", has_side_effect = true} : (tensor<i1>) -> ()
  %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %1 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%0, %z, %size, %one, %one, %one, %pad) {called_computations = [@plus]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
  %2:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%0, %k) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  %3:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %size) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)
  %4 = stablehlo.bitcast_convert %0 : (tensor<?xf32>) -> tensor<?x4xui8>
  return %1, %2#1, %3#1, %4 : tensor<?xf32>, tensor<?xi32>, tensor<?xui32>, tensor<?x4xui8>
}
func.func private @plus(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
// ----- expected
module {
  func.func @g(%arg0: tensor<4xf32>) -> (tensor<?xf32>, tensor<?xi32>, tensor<?xui32>, tensor<?x4xui8>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.constant dense<1> : tensor<1xi32>
    %4 = stablehlo.constant dense<4> : tensor<1xi32>
    %5 = stablehlo.constant dense<[[3, 0]]> : tensor<1x2xi32>
    %6 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %7 = tensor.cast %arg0 : tensor<4xf32> to tensor<?xf32>
    %8 = "stablehlo.reduce_window"(%arg0, %0) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %10 = tensor.cast %8 : tensor<4xf32> to tensor<?xf32>
    %11:2 = chlo.top_k(%arg0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %12 = tensor.cast %11#0 : tensor<2xf32> to tensor<?xf32>
    %13 = tensor.cast %11#1 : tensor<2xi32> to tensor<?xi32>
    %14:2 = stablehlo.rng_bit_generator %6, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %15 = tensor.cast %14#1 : tensor<4xui32> to tensor<?xui32>
    %16 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4x4xui8>
    %17 = tensor.cast %16 : tensor<4x4xui8> to tensor<?x4xui8>
    return %10, %13, %15, %17 : tensor<?xf32>, tensor<?xi32>, tensor<?xui32>, tensor<?x4xui8>
  }
  func.func private @plus(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
}
