// Equal ops, in either order where they commute; not where an attribute or the order differs.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<[5, 7]> : tensor<2xi32>
  %0 = stablehlo.add %x, %z : tensor<2xi32>
  %1 = stablehlo.add %z, %y : tensor<2xi32>
  %2 = stablehlo.subtract %x, %z : tensor<2xi32>
  %3 = stablehlo.subtract %z, %x : tensor<2xi32>
  %4 = stablehlo.compare LT, %x, %z : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %5 = stablehlo.compare GT, %x, %z : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  check.expect_eq %0, %1 : tensor<2xi32>
  check.expect_eq_const %2, dense<[-4, -5]> : tensor<2xi32>
  check.expect_eq_const %3, dense<[4, 5]> : tensor<2xi32>
  check.expect_eq_const %4, dense<true> : tensor<2xi1>
  check.expect_eq_const %5, dense<false> : tensor<2xi1>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[5, 7]> : tensor<2xi32>
    %2 = stablehlo.add %0, %1 : tensor<2xi32>
    %3 = stablehlo.subtract %0, %1 : tensor<2xi32>
    %4 = stablehlo.subtract %1, %0 : tensor<2xi32>
    %5 = stablehlo.compare LT, %0, %1 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %6 = stablehlo.compare GT, %0, %1 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    check.expect_eq %2, %2 : tensor<2xi32>
    check.expect_eq_const %3, dense<[-4, -5]> : tensor<2xi32>
    check.expect_eq_const %4, dense<[4, 5]> : tensor<2xi32>
    check.expect_eq_const %5, dense<true> : tensor<2xi1>
    check.expect_eq_const %6, dense<false> : tensor<2xi1>
    return
  }
}
// -----
// Reductions with equal bodies; a body has its own constants. Branches see what is around them, not each other.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.reduce"(%x, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.multiply %a, %b : tensor<i32>
    %2 = stablehlo.multiply %1, %one : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %3 = "stablehlo.reduce"(%x, %i) ({
  ^bb0(%c: tensor<i32>, %d: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.multiply %d, %c : tensor<i32>
    %5 = stablehlo.multiply %4, %one : tensor<i32>
    stablehlo.return %5 : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %6 = stablehlo.add %0, %i : tensor<i32>
  %7:2 = "stablehlo.if"(%p) ({
    %8 = stablehlo.add %i, %3 : tensor<i32>
    %9 = stablehlo.multiply %8, %8 : tensor<i32>
    stablehlo.return %8, %9 : tensor<i32>, tensor<i32>
  }, {
    %8 = stablehlo.multiply %6, %6 : tensor<i32>
    stablehlo.return %i, %8 : tensor<i32>, tensor<i32>
  }) : (tensor<i1>) -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %7#0, dense<7> : tensor<i32>
  check.expect_eq_const %7#1, dense<49> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.reduce(%0 init: %1) across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
     reducer(%arg0: tensor<i32>, %arg1: tensor<i32>)  {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.multiply %arg0, %arg1 : tensor<i32>
      %6 = stablehlo.multiply %5, %4 : tensor<i32>
      stablehlo.return %6 : tensor<i32>
    }
    %7 = stablehlo.add %3, %1 : tensor<i32>
    %8:2 = "stablehlo.if"(%2) ({
      %9 = stablehlo.multiply %7, %7 : tensor<i32>
      stablehlo.return %7, %9 : tensor<i32>, tensor<i32>
    }, {
      %10 = stablehlo.multiply %7, %7 : tensor<i32>
      stablehlo.return %1, %10 : tensor<i32>, tensor<i32>
    }) : (tensor<i1>) -> (tensor<i32>, tensor<i32>)
    check.expect_eq_const %8#0, dense<7> : tensor<i32>
    check.expect_eq_const %8#1, dense<49> : tensor<i32>
    return
  }
}
