// Loops that write a part of their state per iteration. If all of it is written, its first value does not matter, and is
// not made; where anything is left, or read, it is.

func.func @forward() {
  %x = stablehlo.constant dense<7.0> : tensor<4x2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4x2xf32>
  cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %u = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1x2xf32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i, %zero : (tensor<4x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4x2xf32>
  }
  check.expect_eq_const %r#1, dense<[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]> : tensor<4x2xf32>
  func.return
}

// -----

// From the last to the first, along the second dimension, two at a time.
func.func @backward() {
  %x = stablehlo.constant dense<7> : tensor<2x6xi32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<2> : tensor<i64>
  %four = stablehlo.constant dense<4> : tensor<i64>
  %end = stablehlo.constant dense<6> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i64>, tensor<2x6xi32>
  cond {
    %c = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<i32>
    %at = stablehlo.subtract %four, %i : tensor<i64>
    %u = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %zero, %at : (tensor<2x6xi32>, tensor<2x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x6xi32>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %b : tensor<i64>, tensor<2x6xi32>
  }
  check.expect_eq_const %r#1, dense<[[4, 4, 2, 2, 0, 0], [4, 4, 2, 2, 0, 0]]> : tensor<2x6xi32>
  func.return
}

// -----

// Every other element, and three of four.
func.func @gaps() {
  %x = stablehlo.constant dense<[7, 8, 9, 10]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %u = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    %j = stablehlo.add %i, %two : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xi32>
  }
  check.expect_eq_const %r#1, dense<[0, 8, 2, 10]> : tensor<4xi32>
  %s:2 = stablehlo.while(%i = %one, %a = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %c = stablehlo.compare LE, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %u = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xi32>
  }
  check.expect_eq_const %s#1, dense<[7, 1, 2, 3]> : tensor<4xi32>
  func.return
}

// -----

// Indices are clamped: the last iterations write the last element again.
func.func @clamped() {
  %x = stablehlo.constant dense<[7, 8, 9, 10]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %at = stablehlo.add %i, %two : tensor<i32>
    %u = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %at : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xi32>
  }
  check.expect_eq_const %r#1, dense<[7, 8, 0, 3]> : tensor<4xi32>
  func.return
}

// -----

// The sum so far is read from what the iterations before left, and from what was there first.
func.func @read() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xi32>
  cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %u = stablehlo.reshape %sum : (tensor<i32>) -> tensor<1xi32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xi32>
  }
  check.expect_eq_const %r#1, dense<[10, 19, 36, 69]> : tensor<4xi32>
  func.return
}

// -----

// A vector that is carried and written down, whose next value reads all of the last.
func.func @recurrence() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %m = stablehlo.constant dense<[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %out = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %h = %x, %g = %x, %a = %out) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.dot_general %h, %m, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
    %s = stablehlo.add %g, %h : tensor<3xf32>
    %u = stablehlo.reshape %n : (tensor<3xf32>) -> tensor<1x3xf32>
    %b = stablehlo.dynamic_update_slice %a, %u, %i, %zero : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n, %s, %b : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>
  }
  check.expect_eq_const %r#1, dense<[2.0, 3.0, 1.0]> : tensor<3xf32>
  check.expect_eq_const %r#2, dense<[11.0, 11.0, 14.0]> : tensor<3xf32>
  check.expect_eq_const %r#3, dense<[[3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]]> : tensor<5x3xf32>
  func.return
}
