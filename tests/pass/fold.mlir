// What depends on constants alone, with a reduction among it; only results that something else uses become constants.
func.func @f(%p: tensor<2xi32>) -> (tensor<2xi32>, tensor<i32>) {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.add %x, %y : tensor<2xi32>
  %1 = stablehlo.multiply %0, %0 : tensor<2xi32>
  %2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  %3 = stablehlo.add %p, %1 : tensor<2xi32>
  return %3, %2 : tensor<2xi32>, tensor<i32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2xi32>) -> (tensor<2xi32>, tensor<i32>) {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.constant dense<[16, 36]> : tensor<2xi32>
    %4 = stablehlo.constant dense<52> : tensor<i32>
    %5 = stablehlo.add %arg0, %3 : tensor<2xi32>
    return %5, %4 : tensor<2xi32>, tensor<i32>
  }
}
// -----
// An op that has no result for its operands stays, for the run to say so; the ops around it are folded.
func.func @f(%p: tensor<4xi32>) -> (tensor<?xi32>, tensor<2xi32>) {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %n = stablehlo.constant dense<3> : tensor<1xi32>
  %m = stablehlo.add %n, %n : tensor<1xi32>
  %0 = stablehlo.dynamic_reshape %p, %m : (tensor<4xi32>, tensor<1xi32>) -> tensor<?xi32>
  %1 = stablehlo.negate %x : tensor<2xi32>
  return %0, %1 : tensor<?xi32>, tensor<2xi32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<4xi32>) -> (tensor<?xi32>, tensor<2xi32>) {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<3> : tensor<1xi32>
    %2 = stablehlo.constant dense<6> : tensor<1xi32>
    %3 = stablehlo.optimization_barrier %2 : tensor<1xi32>
    %4 = stablehlo.dynamic_reshape %arg0, %3 : (tensor<4xi32>, tensor<1xi32>) -> tensor<?xi32>
    %5 = stablehlo.constant dense<[-1, -2]> : tensor<2xi32>
    return %4, %5 : tensor<?xi32>, tensor<2xi32>
  }
}
// -----
// Neither an iota, which is smaller than its numbers, nor a result of more than 16 KB, nor a barrier.
func.func @f() -> (tensor<8xi32>, tensor<100x100xf32>, tensor<2xi32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  %1 = stablehlo.add %0, %0 : tensor<8xi32>
  %s = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.pad %s, %z, low = [0], high = [98], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<100xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<100xf32>) -> tensor<100x100xf32>
  %4 = stablehlo.optimization_barrier %a : tensor<2xi32>
  %5 = stablehlo.add %4, %4 : tensor<2xi32>
  return %1, %3, %5 : tensor<8xi32>, tensor<100x100xf32>, tensor<2xi32>
}
// ----- expected
module {
  func.func @f() -> (tensor<8xi32>, tensor<100x100xf32>, tensor<2xi32>) {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.iota dim = 0 : tensor<8xi32>
    %2 = stablehlo.add %1, %1 : tensor<8xi32>
    %3 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<100xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<100xf32>) -> tensor<100x100xf32>
    %7 = stablehlo.optimization_barrier %0 : tensor<2xi32>
    %8 = stablehlo.add %7, %7 : tensor<2xi32>
    return %2, %6, %8 : tensor<8xi32>, tensor<100x100xf32>, tensor<2xi32>
  }
}
// -----
// RUN: -O1
// With simplify: a branch that depends on a folded comparison is known.
func.func @main() {
  %x = stablehlo.constant dense<5> : tensor<i32>
  %y = stablehlo.constant dense<7> : tensor<i32>
  %p = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<i32>
  }, {
    stablehlo.return %y : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %0, dense<5> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<5> : tensor<i32>
    check.expect_eq_const %0, dense<5> : tensor<i32>
    return
  }
}
