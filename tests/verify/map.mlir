func.func @maps(%a: tensor<2x?xf32>, %b: tensor<2x3xf32>, %c: tensor<4xf32>, %d: tensor<f32>) {
  %0 = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "stablehlo.map"(%c) ({
  ^bb0(%x: tensor<f32>):
    %r = stablehlo.is_finite %x : (tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xi1>
  %2 = "stablehlo.map"(%d) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64>} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @refused(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{[map_c1]}}
  %0 = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c1]}}
  %1 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  // expected-error@+1 {{[map_c2] 'stablehlo.map' op needs at least one input}}
  %2 = "stablehlo.map"() ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : () -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c3] 'stablehlo.map' op dimensions must be all of the operands' in order, but are [1, 0]}}
  %3 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1, 0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c3]}}
  %4 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op the computation must take 1 values, but takes 2}}
  %5 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op argument 0 of the computation must have type tensor<f32>, but has tensor<f64>}}
  %6 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %r = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %r : tensor<f64>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op argument 0 of the computation must have type tensor<f32>, but has tensor<1xf32>}}
  %7 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>):
    %r = stablehlo.add %x, %y : tensor<1xf32>
    stablehlo.return %r : tensor<1xf32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op the computation must return one value, but returns 2}}
  %8 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op the computation must return a scalar, but returns tensor<1xf32>}}
  %9 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.reshape %x : (tensor<f32>) -> tensor<1xf32>
    stablehlo.return %r : tensor<1xf32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[map_c4] 'stablehlo.map' op result 0 must have elements of type f32}}
  %10 = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf64>
  func.return
}
