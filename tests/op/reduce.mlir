// Sums along each dimension, along both, and along none.
func.func @sums() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<10> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[15, 17, 19]> : tensor<3xi32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[16, 25]> : tensor<2xi32>
  %2 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %2, dense<31> : tensor<i32>
  %3 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %3, dense<[[11, 12, 13], [14, 15, 16]]> : tensor<2x3xi32>
  return
}

// -----

// Integers wrap; booleans are or-ed by add and and-ed by multiply.
func.func @wrapping() {
  %x = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xi8>, tensor<i8>) -> tensor<i8>
  check.expect_eq_const %0, dense<44> : tensor<i8>
  %p = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %1 = stablehlo.reduce(%p init: %false) applies stablehlo.add across dimensions = [0] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
  check.expect_eq_const %1, dense<true> : tensor<2xi1>
  %2 = stablehlo.reduce(%p init: %true) applies stablehlo.multiply across dimensions = [0] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
  check.expect_eq_const %2, dense<[true, false]> : tensor<2xi1>
  return
}

// -----

// A sum of many small bf16 numbers is rounded once: step by step it would stay at 256.
func.func @narrow_floats_are_rounded_once() {
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %x = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<bf16>) -> tensor<1000xbf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %0, dense<1000.0> : tensor<bf16>
  return
}

// -----

// Maximum spreads NaN; complex products.
func.func @special_values() {
  %x = stablehlo.constant dense<[[1.0, 0x7FC00000], [2.0, -1.0]]> : tensor<2x2xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  %want = stablehlo.constant dense<[0x7FC00000, 2.0]> : tensor<2xf32>
  check.expect_close %0, %want, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  %c = stablehlo.constant dense<[(0.0, 1.0), (0.0, 1.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  %unit = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %1 = stablehlo.reduce(%c init: %unit) applies stablehlo.multiply across dimensions = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  check.expect_almost_eq_const %1, dense<(-2.0, 0.0)> : tensor<complex<f32>>
  return
}

// -----

// Two inputs reduced together: the largest element and where it is.
func.func @argmax() {
  %x = stablehlo.constant dense<[[3.0, 7.0, 7.0], [9.0, -1.0, 2.0]]> : tensor<2x3xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%ai: tensor<i32>, %bi: tensor<i32>)  {
    %gt = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %gt, %a, %b : tensor<i1>, tensor<f32>
    %w = stablehlo.select %gt, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }
  check.expect_eq_const %0#0, dense<[7.0, 9.0]> : tensor<2xf32>
  check.expect_eq_const %0#1, dense<[1, 0]> : tensor<2xi32>
  return
}

// -----

// A body that is no program over lanes (it calls a function), and one that uses a value from outside.
func.func private @pick(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.maximum %a, %b : tensor<i32>
  return %0 : tensor<i32>
}
func.func @main() {
  %x = stablehlo.constant dense<[[4, 9], [5, 6], [7, 1]]> : tensor<3x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = func.call @pick(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[7, 9]> : tensor<2xi32>
  %1 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.multiply %b, %two : tensor<i32>
    %m = stablehlo.add %a, %t : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[32, 32]> : tensor<2xi32>
  return
}

// -----

// Nothing to reduce leaves the initial value; nothing kept leaves nothing.
func.func @empty() {
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %init = stablehlo.constant dense<5.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<0x2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<5.0> : tensor<2xf32>
  %1 = stablehlo.reduce(%x init: %init) applies stablehlo.minimum across dimensions = [1] : (tensor<0x2xf32>, tensor<f32>) -> tensor<0xf32>
  check.expect_eq_const %1, dense<> : tensor<0xf32>
  return
}
