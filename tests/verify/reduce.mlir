func.func @sums(%a: tensor<2x?x4xf32>, %b: tensor<f32>, %c: tensor<2x3xf16>, %d: tensor<f16>) {
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 2>} : (tensor<2x?x4xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = "stablehlo.reduce"(%c, %d) ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %r = stablehlo.add %x, %y : tensor<f16>
    stablehlo.return %r : tensor<f16>
  }) {dimensions = array<i64>} : (tensor<2x3xf16>, tensor<f16>) -> tensor<2x3xf16>
  func.return
}

func.func @wider_than_the_input(%a: tensor<4xbf16>, %b: tensor<bf16>, %c: tensor<4xi8>, %d: tensor<i8>) {
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xbf16>, tensor<bf16>) -> tensor<f32>
  %1 = "stablehlo.reduce"(%c, %d) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %r = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xi8>, tensor<i8>) -> tensor<i32>
  func.return
}

func.func @pairs(%a: tensor<4x5xf32>, %b: tensor<4x?xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  %0:2 = "stablehlo.reduce"(%a, %b, %c, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>, %z: tensor<f32>, %w: tensor<i32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<4x5xf32>, tensor<4x?xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  func.return
}

func.func @bounds(%a: tensor<4x?xf32, #stablehlo.bounds<?, 7>>, %b: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4x?xf32, #stablehlo.bounds<?, 7>>, tensor<f32>) -> tensor<?xf32, #stablehlo.bounds<7>>
  %1 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<4x?xf32, #stablehlo.bounds<?, 7>>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<f32>, %d: tensor<i32>, %e: tensor<1xf32>) {
  // expected-error@+1 {{[reduce_c1] 'stablehlo.reduce' op inputs must have one shape, but have tensor<2x3xf32> and tensor<2x4xf32>}}
  %0:2 = "stablehlo.reduce"(%a, %b, %c, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error@+1 {{[reduce_c2]}}
  %1 = "stablehlo.reduce"(%a, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<i32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c2]}}
  %2 = "stablehlo.reduce"(%a, %e) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c3] 'stablehlo.reduce' op needs at least one input}}
  "stablehlo.reduce"() ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64>} : () -> ()
  // expected-error@+1 {{[reduce_c3] 'stablehlo.reduce' op infers 1 results, but has 2}}
  %3:2 = "stablehlo.reduce"(%a, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error@+1 {{[reduce_c4] 'stablehlo.reduce' op dimensions must be in [0, 2), but has 2}}
  %4 = "stablehlo.reduce"(%a, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c4]}}
  %5 = "stablehlo.reduce"(%a, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: -1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c5] 'stablehlo.reduce' op dimensions must not have duplicates, but has 1 twice}}
  %6 = "stablehlo.reduce"(%a, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

func.func @body(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<2x3xi64>, %d: tensor<i32>, %e: tensor<5xf32>) {
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction must take 2 values, but takes 3}}
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction must return 1 values, but returns 0}}
  %1 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction's argument 0 has type tensor<f64>, but its result has type tensor<f32>}}
  %2 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction's argument 1 has type tensor<i32>, but its result has type tensor<f32>}}
  %3 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction's argument type tensor<i32> cannot hold elements of type i64}}
  %4 = "stablehlo.reduce"(%c, %d) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %r = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xi64>, tensor<i32>) -> tensor<2xi32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction's argument 1 has type tensor<5xf32>, whose dimensions are not among [2]}}
  %5 = "stablehlo.reduce"(%a, %e) ({
  ^bb0(%x: tensor<5xf32>, %y: tensor<5xf32>):
    %r = stablehlo.add %x, %y : tensor<5xf32>
    stablehlo.return %r : tensor<5xf32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<5xf32>) -> tensor<2xf32>
  // expected-error@+1 {{[reduce_c6] 'stablehlo.reduce' op the reduction must take and return tensors}}
  %6 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: !stablehlo.token, %y: tensor<f32>):
    stablehlo.return %x : !stablehlo.token
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

func.func @result(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{[reduce_c7] 'stablehlo.reduce' op result 0 has the inferred type tensor<2xf32>}}
  %0 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  // expected-error@+1 {{[reduce_c8] 'stablehlo.reduce' op result 0 must have elements of type f32, but has tensor<2xf64>}}
  %1 = "stablehlo.reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf64>
  func.return
}
