// map: a computation for every element.

// Several operands, and a result of another type.
func.func @types() {
  %x = stablehlo.constant dense<[[1, 5], [7, -3]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[2, 5], [6, -4]]> : tensor<2x2xi32>
  %r = "stablehlo.map"(%x, %y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %lt = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
  check.expect_eq_const %r, dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  func.return
}

// -----

// A body may use values from outside, and control flow.
func.func @captures() {
  %x = stablehlo.constant dense<[-2.0, 0.5, 3.0]> : tensor<3xf32>
  %bound = stablehlo.constant dense<1.0> : tensor<f32>
  %r = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %above = stablehlo.compare GT, %a, %bound : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b = "stablehlo.if"(%above) ({
      %square = stablehlo.multiply %a, %a : tensor<f32>
      stablehlo.return %square : tensor<f32>
    }, {
      stablehlo.return %bound : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %b : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0, 1.0, 9.0]> : tensor<3xf32>
  func.return
}

// -----

// A scalar; no elements; sizes known only at run time.
func.func @shapes() {
  %s = stablehlo.constant dense<3> : tensor<ui8>
  %0 = "stablehlo.map"(%s) ({
  ^bb0(%a: tensor<ui8>):
    %b = stablehlo.not %a : tensor<ui8>
    stablehlo.return %b : tensor<ui8>
  }) {dimensions = array<i64>} : (tensor<ui8>) -> tensor<ui8>
  check.expect_eq_const %0, dense<252> : tensor<ui8>
  %none = stablehlo.constant dense<> : tensor<0xbf16>
  %1 = "stablehlo.map"(%none) ({
  ^bb0(%a: tensor<bf16>):
    stablehlo.return %a : tensor<bf16>
  }) {dimensions = array<i64: 0>} : (tensor<0xbf16>) -> tensor<0xbf16>
  check.expect_eq_const %1, dense<> : tensor<0xbf16>
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi4>
  %d = tensor.cast %x : tensor<2xi4> to tensor<?xi4>
  %2 = "stablehlo.map"(%d) ({
  ^bb0(%a: tensor<i4>):
    %b = stablehlo.add %a, %a : tensor<i4>
    stablehlo.return %b : tensor<i4>
  }) {dimensions = array<i64: 0>} : (tensor<?xi4>) -> tensor<?xi4>
  %r = tensor.cast %2 : tensor<?xi4> to tensor<2xi4>
  check.expect_eq_const %r, dense<[2, 4]> : tensor<2xi4>
  func.return
}
