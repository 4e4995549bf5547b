func.func @windows(%a: tensor<3x2xi64>, %b: tensor<i64>, %c: tensor<?x4xf32>, %d: tensor<f32>, %e: tensor<?x4xf32, #stablehlo.bounds<7, ?>>, %f: tensor<4xf32>, %g: tensor<4xi32>, %h: tensor<i32>, %i: tensor<4xbf16>, %j: tensor<bf16>) {
  %0 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<i64>, %y: tensor<i64>):
    %r = stablehlo.add %x, %y : tensor<i64>
    stablehlo.return %r : tensor<i64>
  }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 4, 1>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 3, 1>, padding = dense<[[2, 1], [0, 0]]> : tensor<2x2xi64>} : (tensor<3x2xi64>, tensor<i64>) -> tensor<2x2xi64>
  %1 = "stablehlo.reduce_window"(%c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 3, 5>} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x0xf32>
  %2 = "stablehlo.reduce_window"(%e, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>} : (tensor<?x4xf32, #stablehlo.bounds<7, ?>>, tensor<f32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %3:2 = "stablehlo.reduce_window"(%f, %g, %d, %h) ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>, %z: tensor<f32>, %w: tensor<i32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
  %4 = "stablehlo.reduce_window"(%i, %j) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4xbf16>, tensor<bf16>) -> tensor<3xf32>
  func.return
}

// -----

func.func @inputs(%a: tensor<4x6xf32>, %b: tensor<f32>, %c: tensor<4x7xf32>, %d: tensor<i32>) {
  // expected-error@+1 {{[reduce_window_c1] 'stablehlo.reduce_window' op needs at least one input}}
  "stablehlo.reduce_window"() ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : () -> ()
  // expected-error@+1 {{[reduce_window_c1] 'stablehlo.reduce_window' op infers 1 results, but has 2}}
  %0:2 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> (tensor<3x6xf32>, tensor<3x6xf32>)
  // expected-error@+1 {{[reduce_window_c2] 'stablehlo.reduce_window' op inputs must have one shape}}
  %1:2 = "stablehlo.reduce_window"(%a, %c, %b, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<4x7xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x6xf32>, tensor<3x7xf32>)
  // expected-error@+1 {{[reduce_window_c3]}}
  %2 = "stablehlo.reduce_window"(%a, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<i32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c4] 'stablehlo.reduce_window' op window_dimensions must have 2 elements, but has 1}}
  %3 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c5] 'stablehlo.reduce_window' op the window must have a positive size in each dimension, but has [2, 0]}}
  %4 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c6] 'stablehlo.reduce_window' op window_strides must have 2 elements, but has 1}}
  %5 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_strides = array<i64: 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c7] 'stablehlo.reduce_window' op window_strides must be positive, but is [1, 0]}}
  %6 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_strides = array<i64: 1, 0>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c8]}}
  %7 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {base_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c9]}}
  %8 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {base_dilations = array<i64: -1, 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c10]}}
  %9 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dilations = array<i64: 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c11]}}
  %10 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dilations = array<i64: 0, 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c12] 'stablehlo.reduce_window' op padding must have the shape [2, 2], but has [1, 2]}}
  %11 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c12]}}
  %12 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {padding = dense<0> : tensor<2x3xi64>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  func.return
}

func.func @body_and_result(%a: tensor<4x6xf32>, %b: tensor<f32>, %c: tensor<4x6xi64>, %d: tensor<i32>) {
  // expected-error@+1 {{[reduce_window_c13] 'stablehlo.reduce_window' op the reduction must take 2 values, but takes 3}}
  %0 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  // expected-error@+1 {{[reduce_window_c13]}}
  %1 = "stablehlo.reduce_window"(%c, %d) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %r = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xi64>, tensor<i32>) -> tensor<3x6xi32>
  // expected-error@+1 {{[reduce_window_c15] 'stablehlo.reduce_window' op result 0 has the inferred type tensor<3x6xf32>}}
  %2 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[reduce_window_c15] 'stablehlo.reduce_window' op dilation and padding make dimension 0 too large}}
  %3 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {base_dilations = array<i64: 9223372036854775807, 1>, window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x6xf32>
  // expected-error@+1 {{[reduce_window_c16] 'stablehlo.reduce_window' op result 0 must have elements of type f32}}
  %4 = "stablehlo.reduce_window"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf64>
  func.return
}
