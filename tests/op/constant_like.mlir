// constant_like: one number in the shape of the operand.

// Of every kind of number.
func.func @types() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %f32 = "chlo.constant_like"(%x) {value = 0.1 : f32} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  check.expect_eq_const %f32, dense<0.1> : tensor<1x3xf32>
  %h = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E5M2>
  %f8 = "chlo.constant_like"(%h) {value = 1.5 : f8E5M2} : (tensor<2xf8E5M2>) -> tensor<2xf8E5M2>
  check.expect_eq_const %f8, dense<1.5> : tensor<2xf8E5M2>
  %i = stablehlo.constant dense<[1, 2]> : tensor<2xi4>
  %i4 = "chlo.constant_like"(%i) {value = -8 : i4} : (tensor<2xi4>) -> tensor<2xi4>
  check.expect_eq_const %i4, dense<-8> : tensor<2xi4>
  %u = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %ui64 = "chlo.constant_like"(%u) {value = 18446744073709551615 : ui64} : (tensor<2xui64>) -> tensor<2xui64>
  check.expect_eq_const %ui64, dense<18446744073709551615> : tensor<2xui64>
  %p = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %i1 = "chlo.constant_like"(%p) {value = true} : (tensor<2xi1>) -> tensor<2xi1>
  check.expect_eq_const %i1, dense<true> : tensor<2xi1>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %a = tensor.cast %x : tensor<2x1xf64> to tensor<?x?xf64>
  %b = "chlo.constant_like"(%a) {value = 0x7FF0000000000000 : f64} : (tensor<?x?xf64>) -> tensor<?x?xf64>
  %r = tensor.cast %b : tensor<?x?xf64> to tensor<2x1xf64>
  check.expect_eq_const %r, dense<0x7FF0000000000000> : tensor<2x1xf64>
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %n = "chlo.constant_like"(%none) {value = 1 : i32} : (tensor<0xi32>) -> tensor<0xi32>
  check.expect_eq_const %n, dense<> : tensor<0xi32>
  %s = stablehlo.constant dense<1> : tensor<i32>
  %t = "chlo.constant_like"(%s) {value = -5 : i32} : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %t, dense<-5> : tensor<i32>
  func.return
}

// -----

// A complex number, with and without its type after it.
func.func @complex() {
  %x = stablehlo.constant dense<0.0> : tensor<2xf32>
  %c = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
  %a = "chlo.constant_like"(%c) {value = #complex.number<:f32 1.5, -2.0> : complex<f32>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %a, dense<(1.5, -2.0)> : tensor<2xcomplex<f32>>
  %b = "chlo.constant_like"(%x) {value = #complex.number<:f64 0.0, 1.0>} : (tensor<2xf32>) -> tensor<2xcomplex<f64>>
  check.expect_eq_const %b, dense<(0.0, 1.0)> : tensor<2xcomplex<f64>>
  func.return
}
