// Windows, pads, slices and reversals of sizes that can be divided: `hilo check --shardings` divides them.

// A window of three.
func.func @window() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<3x1x1xf32>) -> tensor<1x16x1xf32>
  check.expect_eq_const %r, dense<[[[6.0], [30.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [30.0], [-3.0], [-3.0], [-3.0]]]> : tensor<1x16x1xf32>
  return
}

// Every second place.
func.func @strided() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [2], pad = [[0, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<3x1x1xf32>) -> tensor<1x8x1xf32>
  check.expect_eq_const %r, dense<[[[30.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0], [-3.0]]]> : tensor<1x8x1xf32>
  return
}

// The gradient of that: zeros between elements.
func.func @dilated_input() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0]]]> : tensor<1x8x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[2, 1]], lhs_dilate = [2], rhs_dilate = [1], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<3x1x1xf32>) -> tensor<1x16x1xf32>
  check.expect_eq_const %r, dense<[[[-9.0], [0.0], [15.0], [0.0], [15.0], [0.0], [-18.0], [0.0], [15.0], [0.0], [-18.0], [0.0], [15.0], [0.0], [-18.0], [0.0]]]> : tensor<1x16x1xf32>
  return
}

// A dilated window.
func.func @dilated_window() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[2, 2]], lhs_dilate = [1], rhs_dilate = [2], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<3x1x1xf32>) -> tensor<1x16x1xf32>
  check.expect_eq_const %r, dense<[[[21.0], [3.0], [27.0], [-6.0], [-6.0], [-6.0], [-6.0], [-6.0], [-6.0], [-6.0], [-6.0], [27.0], [-6.0], [27.0], [-6.0], [-21.0]]]> : tensor<1x16x1xf32>
  return
}

// A window that is larger than a part.
func.func @large_window() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]], [[6.0]], [[-2.0]], [[1.0]], [[4.0]]]> : tensor<7x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[3, 3]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<7x1x1xf32>) -> tensor<1x16x1xf32>
  check.expect_eq_const %r, dense<[[[-11.0], [14.0], [52.0], [44.0], [34.0], [2.0], [25.0], [-7.0], [16.0], [-16.0], [51.0], [-14.0], [20.0], [43.0], [24.0], [33.0]]]> : tensor<1x16x1xf32>
  return
}

// A long window at few places: the gradient of a kernel.
func.func @kernel_gradient() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]], [[6.0]], [[-2.0]], [[1.0]], [[4.0]], [[7.0]], [[-1.0]], [[2.0]], [[5.0]], [[-3.0]], [[0.0]], [[3.0]], [[6.0]], [[-2.0]]]> : tensor<16x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<16x1x1xf32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %r, dense<[[[123.0], [68.0], [88.0]]]> : tensor<1x3x1xf32>
  return
}

// The same, with the window reversed.
func.func @reversed_kernel_gradient() {
  %x = stablehlo.constant dense<[[[-3.0], [2.0], [7.0], [1.0], [6.0], [0.0], [5.0], [-1.0], [4.0], [-2.0], [3.0], [-3.0], [2.0], [7.0], [1.0], [6.0]]]> : tensor<1x16x1xf32>
  %w = stablehlo.constant dense<[[[-3.0]], [[0.0]], [[3.0]], [[6.0]], [[-2.0]], [[1.0]], [[4.0]], [[7.0]], [[-1.0]], [[2.0]], [[5.0]], [[-3.0]], [[0.0]], [[3.0]], [[6.0]], [[-2.0]]]> : tensor<16x1x1xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [true]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x1xf32>, tensor<16x1x1xf32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %r, dense<[[[-4.0], [76.0], [96.0]]]> : tensor<1x3x1xf32>
  return
}

// Sums of windows.
func.func @sums() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0]> : tensor<16xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>,
    window_dilations = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[-1.0, 6.0, 10.0, 14.0, 7.0, 11.0, 4.0, 8.0, 1.0, 5.0, -2.0, 2.0, 6.0, 10.0, 14.0, 7.0]> : tensor<16xf32>
  return
}

// The largest, of which there may be none.
func.func @largest() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0]> : tensor<16xf32>
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, base_dilations = array<i64: 1>,
    window_dilations = array<i64: 1>, padding = dense<[[3, -2]]> : tensor<1x2xi64>} : (tensor<16xf32>, tensor<f32>) -> tensor<8xf32>
  check.expect_eq_const %r, dense<[0xFF800000, 2.0, 7.0, 6.0, 5.0, 4.0, 3.0, 7.0]> : tensor<8xf32>
  return
}

// All before: as large as the dimension.
func.func @cumulative() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0]> : tensor<8xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 8>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>,
    window_dilations = array<i64: 1>, padding = dense<[[7, 0]]> : tensor<1x2xi64>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  check.expect_eq_const %r, dense<[-3.0, -1.0, 6.0, 7.0, 13.0, 13.0, 18.0, 17.0]> : tensor<8xf32>
  return
}

// More on both sides.
func.func @pad_both() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0]> : tensor<8xf32>
  %init = stablehlo.constant dense<-1.0> : tensor<f32>
  %r = stablehlo.pad %x, %init, low = [4], high = [4], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[-1.0, -1.0, -1.0, -1.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, -1.0, -1.0, -1.0, -1.0]> : tensor<16xf32>
  return
}

// More on one side, less on the other.
func.func @pad_and_cut() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0]> : tensor<16xf32>
  %init = stablehlo.constant dense<-1.0> : tensor<f32>
  %r = stablehlo.pad %x, %init, low = [3], high = [-3], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[-1.0, -1.0, -1.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0]> : tensor<16xf32>
  return
}

// Between elements.
func.func @pad_between() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0]> : tensor<8xf32>
  %init = stablehlo.constant dense<-1.0> : tensor<f32>
  %r = stablehlo.pad %x, %init, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[-3.0, -1.0, 2.0, -1.0, 7.0, -1.0, 1.0, -1.0, 6.0, -1.0, 0.0, -1.0, 5.0, -1.0, -1.0, -1.0]> : tensor<16xf32>
  return
}

// The middle.
func.func @slice() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0]> : tensor<24xf32>
  %r = stablehlo.slice %x [4:20:1] : (tensor<24xf32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0]> : tensor<16xf32>
  return
}

// Every third.
func.func @slice_strided() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0]> : tensor<24xf32>
  %r = stablehlo.slice %x [0:24:3] : (tensor<24xf32>) -> tensor<8xf32>
  check.expect_eq_const %r, dense<[-3.0, 1.0, 5.0, -2.0, 2.0, 6.0, -1.0, 3.0]> : tensor<8xf32>
  return
}

// Moved, every second.
func.func @slice_moved() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0]> : tensor<24xf32>
  %r = stablehlo.slice %x [5:21:2] : (tensor<24xf32>) -> tensor<8xf32>
  check.expect_eq_const %r, dense<[0.0, -1.0, -2.0, -3.0, 7.0, 6.0, 5.0, 4.0]> : tensor<8xf32>
  return
}

// Reversed.
func.func @reverse() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 0.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0]> : tensor<16xf32>
  %r = stablehlo.reverse %x, dims = [0] : tensor<16xf32>
  check.expect_eq_const %r, dense<[6.0, 1.0, 7.0, 2.0, -3.0, 3.0, -2.0, 4.0, -1.0, 5.0, 0.0, 6.0, 1.0, 7.0, 2.0, -3.0]> : tensor<16xf32>
  return
}

// The first of the largest of each two gets a value.
func.func @select_and_scatter() {
  %x = stablehlo.constant dense<[-3.0, 2.0, 7.0, 1.0, 6.0, 6.0, 5.0, -1.0, 4.0, -2.0, 3.0, -3.0, 2.0, 7.0, 1.0, 6.0]> : tensor<16xf32>
  %g = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %init = stablehlo.constant dense<0.5> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<16xf32>, tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  check.expect_eq_const %r, dense<[0.5, 1.5, 2.5, 0.5, 3.5, 0.5, 4.5, 0.5, 5.5, 0.5, 6.5, 0.5, 0.5, 7.5, 0.5, 8.5]> : tensor<16xf32>
  return
}

// The end, and then the beginning.
func.func @rotate() {
  %x = stablehlo.iota dim = 0 : tensor<16xi32>
  %end = stablehlo.slice %x [11:16] : (tensor<16xi32>) -> tensor<5xi32>
  %begin = stablehlo.slice %x [0:11] : (tensor<16xi32>) -> tensor<11xi32>
  %r = stablehlo.concatenate %end, %begin, dim = 0 : (tensor<5xi32>, tensor<11xi32>) -> tensor<16xi32>
  check.expect_eq_const %r, dense<[11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]> : tensor<16xi32>
  return
}
