// A sum pool of 2x2 with stride 2, and a maximum with padding, which counts as the initial value.
func.func @pools() {
  %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]> : tensor<4x4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[14, 22], [46, 54]]> : tensor<2x2xi32>
  %hundred = stablehlo.constant dense<8> : tensor<i32>
  %1 = "stablehlo.reduce_window"(%x, %hundred) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 3, 3>, padding = dense<1> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[8, 8], [14, 16]]> : tensor<2x2xi32>
  return
}

// -----

// Dilated windows, a dilated base, and padding that is negative.
func.func @dilations() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<5xi64>, tensor<i64>) -> tensor<3xi64>
  check.expect_eq_const %0, dense<[4, 6, 8]> : tensor<3xi64>
  %1 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>, base_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<5xi64>, tensor<i64>) -> tensor<7xi64>
  check.expect_eq_const %1, dense<[3, 2, 5, 3, 7, 4, 9]> : tensor<7xi64>
  %2 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>, padding = dense<[[-1, -1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<5xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %2, dense<[5, 7]> : tensor<2xi64>
  return
}

// -----

// Two inputs in one window.
func.func @two_inputs() {
  %x = stablehlo.constant dense<[1.0, 5.0, 2.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %y, %f, %i) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<i32>, %b: tensor<f32>, %d: tensor<i32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    %t = stablehlo.add %c, %d : tensor<i32>
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }) : (tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[5.0, 5.0]> : tensor<2xf32>
  check.expect_eq_const %0#1, dense<[30, 50]> : tensor<2xi32>
  return
}

// -----

// Windows that hold all before their position, or all after it: running sums. From the front each step is rounded.
func.func @cumulative() {
  %x = stablehlo.constant dense<[[1.0e+08, 1.0, 2.0], [3.0, -1.0e+08, 1.0], [-1.0e+08, 4.0, 0.5]]> : tensor<3x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = "stablehlo.reduce_window"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>} : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  check.expect_eq_const %rows, dense<[[1.0e+08, 1.0e+08, 1.0e+08], [3.0, -1.0e+08, -1.0e+08], [-1.0e+08, -1.0e+08, -1.0e+08]]> : tensor<3x3xf32>
  %columns = "stablehlo.reduce_window"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 5, 1>, padding = dense<[[0, 4], [0, 0]]> : tensor<2x2xi64>} : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  check.expect_eq_const %columns, dense<[[0.0, -1.0e+08, 3.5], [-1.0e+08, -1.0e+08, 1.5], [-1.0e+08, 4.0, 0.5]]> : tensor<3x3xf32>
  func.return
}

// -----

// Bodies whose operands have an order keep it, from either side; more than one result.
func.func @cumulative_pairs() {
  %x = stablehlo.constant dense<[3, 7, 7, 1]> : tensor<4xi32>
  %i = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %i, %least, %none) ({
    ^bb0(%a: tensor<i32>, %ai: tensor<i32>, %b: tensor<i32>, %bi: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %v = stablehlo.select %keep, %a, %b : tensor<i1>, tensor<i32>
      %vi = stablehlo.select %keep, %ai, %bi : tensor<i1>, tensor<i32>
      stablehlo.return %v, %vi : tensor<i32>, tensor<i32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %0#1, dense<[0, 1, 1, 1]> : tensor<4xi32>
  %1:2 = "stablehlo.reduce_window"(%x, %i, %least, %none) ({
    ^bb0(%a: tensor<i32>, %ai: tensor<i32>, %b: tensor<i32>, %bi: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %v = stablehlo.select %keep, %a, %b : tensor<i1>, tensor<i32>
      %vi = stablehlo.select %keep, %ai, %bi : tensor<i1>, tensor<i32>
      stablehlo.return %v, %vi : tensor<i32>, tensor<i32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[0, 3]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %1#0, dense<[7, 7, 7, 1]> : tensor<4xi32>
  check.expect_eq_const %1#1, dense<[1, 1, 2, 3]> : tensor<4xi32>
  func.return
}

// -----

// An initial value that is not neutral counts once, and once more for each place of the window on padding.
func.func @cumulative_from_one() {
  %x = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %one) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[13, 32, 61]> : tensor<3xi32>
  func.return
}

// -----

// A body may take elements in another precision than it sums up in; padding comes in that precision.
func.func @wider_elements() {
  %x = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf16>
  %one = stablehlo.constant dense<1.0> : tensor<f16>
  %0 = "stablehlo.reduce_window"(%x, %one) ({
    ^bb0(%a: tensor<f16>, %b: tensor<f64>):
      %c = stablehlo.convert %b : (tensor<f64>) -> tensor<f16>
      %s = stablehlo.add %a, %c : tensor<f16>
      stablehlo.return %s : tensor<f16>
  }) {window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  check.expect_eq_const %0, dense<[4.0, 6.0]> : tensor<2xf16>
  func.return
}

// -----

// Windows of pooling, channels last and channels first: a kernel of lanes along channels or positions.
func.func @pooling() {
  %i = stablehlo.iota dim = 0 : tensor<4760xi32>
  %m = stablehlo.constant dense<37> : tensor<4760xi32>
  %d = stablehlo.constant dense<101> : tensor<4760xi32>
  %p = stablehlo.multiply %i, %m : tensor<4760xi32>
  %r = stablehlo.remainder %p, %d : tensor<4760xi32>
  %f = stablehlo.convert %r : (tensor<4760xi32>) -> tensor<4760xf32>
  %x = stablehlo.reshape %f : (tensor<4760xf32>) -> tensor<2x14x17x10xf32>
  %t = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x14x17x10xf32>) -> tensor<2x10x14x17xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 0], [0, 0]]> : tensor<4x2xi64>} : (tensor<2x14x17x10xf32>, tensor<f32>) -> tensor<2x7x8x10xf32>
  %2 = "stablehlo.reduce_window"(%t, %least) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>, padding = dense<[[0, 0], [0, 0], [1, 1], [1, 0]]> : tensor<4x2xi64>} : (tensor<2x10x14x17xf32>, tensor<f32>) -> tensor<2x10x7x8xf32>
  %4 = stablehlo.transpose %2, dims = [0, 2, 3, 1] : (tensor<2x10x7x8xf32>) -> tensor<2x7x8x10xf32>
  check.expect_eq %0, %4 : tensor<2x7x8x10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x7x8x10xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %5, dense<102186.0> : tensor<f32>
  return
}
