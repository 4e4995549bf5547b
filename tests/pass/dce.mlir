// Ops that nothing needs, with what only they need; a private function that nothing calls.
func.func private @unused() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.add %x, %x : tensor<2xi32>
  %1 = stablehlo.multiply %0, %0 : tensor<2xi32>
  check.expect_eq_const %x, dense<[1, 2]> : tensor<2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>
    return
  }
}
// -----
// What has an effect stays: a draw of random numbers, a call that prints, a branch with a probe in it. A call that has none does not.
func.func private @prints(%a: tensor<i32>) -> tensor<i32> {
  interpreter.print %a : tensor<i32>
  return %a : tensor<i32>
}
func.func private @pure(%a: tensor<i32>) -> tensor<i32> {
  return %a : tensor<i32>
}
func.func @f(%p: tensor<i1>, %a: tensor<f32>, %n: tensor<1xi64>, %x: tensor<i32>) {
  %0 = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %1 = func.call @prints(%x) : (tensor<i32>) -> tensor<i32>
  %2 = func.call @pure(%x) : (tensor<i32>) -> tensor<i32>
  %3:2 = "stablehlo.if"(%p) ({
    %4 = interpreter.probe %x, probe_id = "x" : tensor<i32>
    stablehlo.return %4, %x : tensor<i32>, tensor<i32>
  }, {
    stablehlo.return %x, %x : tensor<i32>, tensor<i32>
  }) : (tensor<i1>) -> (tensor<i32>, tensor<i32>)
  return
}
// ----- expected
module {
  func.func private @prints(%arg0: tensor<i32>) -> tensor<i32> {
    interpreter.print %arg0 : tensor<i32>
    return %arg0 : tensor<i32>
  }
  func.func @f(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<1xi64>, %arg3: tensor<i32>) {
    %0 = stablehlo.rng %arg1, %arg1, %arg2, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    %1 = call @prints(%arg3) : (tensor<i32>) -> tensor<i32>
    "stablehlo.if"(%arg0) ({
      %2 = interpreter.probe %arg3, probe_id = "x" : tensor<i32>
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> ()
    return
  }
}
// -----
// A loop keeps the variables that its condition or a result needs: %c needs %d, but nothing outside of their circle does.
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %x = stablehlo.constant dense<2.0> : tensor<f32>
  %0:4 = stablehlo.while(%i = %zero, %c = %x, %d = %x, %r = %x) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  cond {
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.multiply %d, %c : tensor<f32>
    %3 = stablehlo.add %c, %d : tensor<f32>
    %4 = stablehlo.multiply %r, %r : tensor<f32>
    stablehlo.return %1, %2, %3, %4 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  check.expect_eq_const %0#3, dense<256.0> : tensor<f32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %4:2 = stablehlo.while(%arg0 = %0, %arg1 = %3) : tensor<i32>, tensor<f32>
    cond {
      %5 = stablehlo.compare LT, %arg0, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.add %arg0, %2 : tensor<i32>
      %7 = stablehlo.multiply %arg1, %arg1 : tensor<f32>
      stablehlo.return %6, %7 : tensor<i32>, tensor<f32>
    }
    check.expect_eq_const %4#1, dense<2.560000e+02> : tensor<f32>
    return
  }
}
// -----
// One of two reductions; the unused payload of a sort.
func.func @main() {
  %x = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %i), (%x init: %i) across dimensions = [0] : (tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %1 = stablehlo.add %a, %b : tensor<i32>
    %2 = stablehlo.maximum %c, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
  }
  %3:3 = "stablehlo.sort"(%x, %x, %x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
    %4 = stablehlo.compare GT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>)
  check.expect_eq_const %0#1, dense<3> : tensor<i32>
  check.expect_eq_const %3#2, dense<[3, 2, 1]> : tensor<3xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.maximum across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %3:2 = "stablehlo.sort"(%0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>):
      %4 = stablehlo.compare GT, %arg0, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<3xi32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>)
    check.expect_eq_const %2, dense<3> : tensor<i32>
    check.expect_eq_const %3#1, dense<[3, 2, 1]> : tensor<3xi32>
    return
  }
}
