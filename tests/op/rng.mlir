// rng: any numbers of the distribution will do, so what is asserted is their range.

// Uniform floats, from the lower bound to below the upper one.
func.func @uniform_floats() {
  %a = stablehlo.constant dense<-1.0> : tensor<f32>
  %b = stablehlo.constant dense<3.0> : tensor<f32>
  %shape = stablehlo.constant dense<[50, 4]> : tensor<2xi64>
  %x = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<50x4xf32>
  %inside = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<50x4xf32>, tensor<f32>) -> tensor<50x4xf32>
  check.expect_eq %inside, %x : tensor<50x4xf32>
  // The mean of 200 is within five standard deviations, 0.41, of 1.
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<50x4xf32>, tensor<f32>) -> tensor<f32>
  check.expect_almost_eq_const %sum, dense<200.0> : tensor<f32>, tolerance = 82.0
  func.return
}

// -----

// Uniform integers and booleans; bounds next to each other leave one number.
func.func @uniform_integers() {
  %a = stablehlo.constant dense<-3> : tensor<i8>
  %b = stablehlo.constant dense<4> : tensor<i8>
  %shape = stablehlo.constant dense<100> : tensor<1xi32>
  %x = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i8>, tensor<i8>, tensor<1xi32>) -> tensor<100xi8>
  %most = stablehlo.constant dense<3> : tensor<i8>
  %inside = stablehlo.clamp %a, %x, %most : (tensor<i8>, tensor<100xi8>, tensor<i8>) -> tensor<100xi8>
  check.expect_eq %inside, %x : tensor<100xi8>
  %c = stablehlo.constant dense<7> : tensor<ui4>
  %d = stablehlo.constant dense<8> : tensor<ui4>
  %seven = stablehlo.rng %c, %d, %shape, distribution = UNIFORM : (tensor<ui4>, tensor<ui4>, tensor<1xi32>) -> tensor<100xui4>
  check.expect_eq_const %seven, dense<7> : tensor<100xui4>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %no = stablehlo.rng %f, %t, %shape, distribution = UNIFORM : (tensor<i1>, tensor<i1>, tensor<1xi32>) -> tensor<100xi1>
  check.expect_eq_const %no, dense<false> : tensor<100xi1>
  func.return
}

// -----

// Normal: the mean of 400 is within five of its standard deviations of the mean; without deviation it is the mean.
func.func @normal() {
  %mean = stablehlo.constant dense<10.0> : tensor<f64>
  %deviation = stablehlo.constant dense<2.0> : tensor<f64>
  %shape = stablehlo.constant dense<400> : tensor<1xi64>
  %x = stablehlo.rng %mean, %deviation, %shape, distribution = NORMAL
    : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<400xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<400xf64>, tensor<f64>) -> tensor<f64>
  check.expect_almost_eq_const %sum, dense<4000.0> : tensor<f64>, tolerance = 200.0
  %same = stablehlo.rng %mean, %zero, %shape, distribution = NORMAL
    : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<400xf64>
  check.expect_eq_const %same, dense<10.0> : tensor<400xf64>
  func.return
}

// -----

// No dimensions; no elements; sizes known only at run time.
func.func @shapes() {
  %a = stablehlo.constant dense<2> : tensor<i64>
  %b = stablehlo.constant dense<3> : tensor<i64>
  %scalar = stablehlo.constant dense<> : tensor<0xi64>
  %0 = stablehlo.rng %a, %b, %scalar, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<0xi64>) -> tensor<i64>
  check.expect_eq_const %0, dense<2> : tensor<i64>
  %empty = stablehlo.constant dense<[0, 3]> : tensor<2xi64>
  %1 = stablehlo.rng %a, %b, %empty, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<2xi64>) -> tensor<0x3xi64>
  check.expect_eq_const %1, dense<> : tensor<0x3xi64>
  %one = stablehlo.constant dense<1> : tensor<2xi64>
  %shape = stablehlo.add %one, %one : tensor<2xi64>
  %2 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<2xi64>) -> tensor<?x?xi64>
  %known = tensor.cast %2 : tensor<?x?xi64> to tensor<2x2xi64>
  check.expect_eq_const %known, dense<2> : tensor<2x2xi64>
  func.return
}
