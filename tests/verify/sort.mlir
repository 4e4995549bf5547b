func.func @sorts(%a: tensor<2x?xf32>, %b: tensor<2x3xf32>, %c: tensor<2x3xi64>) {
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {dimension = -2 : i64, is_stable = true} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %1:2 = "stablehlo.sort"(%b, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<i64>, %w: tensor<i64>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return
}

// -----

func.func @refused(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{[sort_c1] 'stablehlo.sort' op needs at least one input}}
  "stablehlo.sort"() ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : () -> ()
  // expected-error@+1 {{[sort_c2] 'stablehlo.sort' op result 0 has the inferred type tensor<2x3xf32>}}
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  // expected-error@+1 {{[sort_c2] 'stablehlo.sort' op infers 1 results, but has 2}}
  %1:2 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // expected-error@+1 {{[sort_c3]}}
  %2:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{[sort_c4] 'stablehlo.sort' op dimension must be in [-2, 2), but is 2}}
  %3 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {dimension = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[sort_c4]}}
  %4 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {dimension = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[sort_c4]}}
  %5 = "stablehlo.sort"(%c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) {dimension = -1 : i64} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[sort_c5] 'stablehlo.sort' op the comparator must take 2 values, but takes 3}}
  %6 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[sort_c5] 'stablehlo.sort' op argument 0 of the comparator must have type tensor<f32>, but has tensor<f64>}}
  %7 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[sort_c5] 'stablehlo.sort' op the comparator must return one value, but returns 2}}
  %8 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r, %r : tensor<i1>, tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[sort_c5] 'stablehlo.sort' op the comparator must return tensor<i1>, but returns tensor<f32>}}
  %9 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
