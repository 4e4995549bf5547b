// A private function is put where it is called, once for each call; what it calls comes first.
func.func private @twice(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.add %a, %a : tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func private @swap_twice(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = func.call @twice(%b) : (tensor<2xi32>) -> tensor<2xi32>
  return %0, %a : tensor<2xi32>, tensor<2xi32>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0:2 = func.call @swap_twice(%x, %y) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %1:2 = func.call @swap_twice(%0#0, %0#1) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %1#0, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %1#1, dense<[6, 8]> : tensor<2xi32>
  return
}
// ----- expected
module {
  func.func private @swap_twice(%arg0: tensor<2xi32>, %arg1: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
    %0 = stablehlo.add %arg1, %arg1 : tensor<2xi32>
    return %0, %arg0 : tensor<2xi32>, tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
    %2 = stablehlo.add %1, %1 : tensor<2xi32>
    %3 = stablehlo.add %0, %0 : tensor<2xi32>
    check.expect_eq_const %3, dense<[2, 4]> : tensor<2xi32>
    check.expect_eq_const %2, dense<[6, 8]> : tensor<2xi32>
    return
  }
}
// -----
// The decomposition of a composite, public or not, in a region too.
func.func @half(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<0.5> : tensor<f32>
  %1 = stablehlo.multiply %a, %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func @main() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.composite "my.half" %x {decomposition = @half} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  check.expect_eq_const %0, dense<1.5> : tensor<f32>
  return
}
// ----- expected
module {
  func.func @half(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %2 = "stablehlo.if"(%0) ({
      %3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %4 = stablehlo.multiply %1, %3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }, {
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    check.expect_eq_const %2, dense<1.500000e+00> : tensor<f32>
    return
  }
}
// -----
// Functions in a circle: of the calls between them, one stays.
func.func private @even(%n: tensor<i32>) -> tensor<i1> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %p = stablehlo.compare EQ, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %p : tensor<i1>
  }, {
    %m = stablehlo.subtract %n, %one : tensor<i32>
    %o = func.call @odd(%m) : (tensor<i32>) -> tensor<i1>
    stablehlo.return %o : tensor<i1>
  }) : (tensor<i1>) -> tensor<i1>
  return %r : tensor<i1>
}
func.func private @odd(%n: tensor<i32>) -> tensor<i1> {
  %e = func.call @even(%n) : (tensor<i32>) -> tensor<i1>
  %r = stablehlo.not %e : tensor<i1>
  return %r : tensor<i1>
}
func.func @main() {
  %n = stablehlo.constant dense<4> : tensor<i32>
  %0 = func.call @even(%n) : (tensor<i32>) -> tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  return
}
// ----- expected
module {
  func.func private @even(%arg0: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.compare EQ, %arg0, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = "stablehlo.if"(%2) ({
      stablehlo.return %2 : tensor<i1>
    }, {
      %4 = stablehlo.subtract %arg0, %1 : tensor<i32>
      %5 = func.call @even(%4) : (tensor<i32>) -> tensor<i1>
      %6 = stablehlo.not %5 : tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    return %3 : tensor<i1>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.compare EQ, %0, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = "stablehlo.if"(%3) ({
      stablehlo.return %3 : tensor<i1>
    }, {
      %5 = stablehlo.subtract %0, %2 : tensor<i32>
      %6 = func.call @even(%5) : (tensor<i32>) -> tensor<i1>
      %7 = stablehlo.not %6 : tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    check.expect_eq_const %4, dense<true> : tensor<i1>
    return
  }
}
// -----
// A public function stays a call: others may replace it.
func.func @public(%a: tensor<i32>) -> tensor<i32> {
  return %a : tensor<i32>
}
func.func @main() {
  %x = stablehlo.constant dense<7> : tensor<i32>
  %0 = func.call @public(%x) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %0, dense<7> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @public(%arg0: tensor<i32>) -> tensor<i32> {
    return %arg0 : tensor<i32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<7> : tensor<i32>
    %1 = call @public(%0) : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %1, dense<7> : tensor<i32>
    return
  }
}
// -----
// A fusion, too, with what is fused inside of it.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 5.0]> : tensor<2xf32>
  %0:2 = "mhlo.fusion"(%b, %a) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    %1 = "mhlo.fusion"(%x) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
    ^bb0(%z: tensor<2xf32>):
      %n = stablehlo.negate %z : tensor<2xf32>
      stablehlo.return %n : tensor<2xf32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %s = stablehlo.subtract %1, %y : tensor<2xf32>
    stablehlo.return %s, %1 : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %0#0, dense<[-4.0, -7.0]> : tensor<2xf32>
  check.expect_eq_const %0#1, dense<[-3.0, -5.0]> : tensor<2xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %1 = stablehlo.constant dense<[3.000000e+00, 5.000000e+00]> : tensor<2xf32>
    %2 = stablehlo.negate %1 : tensor<2xf32>
    %3 = stablehlo.subtract %2, %0 : tensor<2xf32>
    check.expect_eq_const %3, dense<[-4.000000e+00, -7.000000e+00]> : tensor<2xf32>
    check.expect_eq_const %2, dense<[-3.000000e+00, -5.000000e+00]> : tensor<2xf32>
    return
  }
}
