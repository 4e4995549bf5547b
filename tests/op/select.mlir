// select: the second operand where the first is true, else the third.

// Element by element.
func.func @elements() {
  %p = stablehlo.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi16>
  %y = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi16>
  %r = stablehlo.select %p, %x, %y : tensor<2x2xi1>, tensor<2x2xi16>
  check.expect_eq_const %r, dense<[[1, -2], [-3, 4]]> : tensor<2x2xi16>
  func.return
}

// -----

// A scalar condition chooses for all elements.
func.func @scalar_condition() {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf64>
  %r = stablehlo.select %t, %x, %y : (tensor<i1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf64>
  %s = stablehlo.select %f, %x, %y : tensor<i1>, tensor<2xf64>
  check.expect_eq_const %s, dense<[3.0, 4.0]> : tensor<2xf64>
  func.return
}

// -----

// Elements of every size are moved as they are, the bits of a NaN too.
func.func @bits() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %x = stablehlo.constant dense<[0x7FC12345, 1.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %r = stablehlo.select %p, %x, %y : tensor<2xi1>, tensor<2xf32>
  %bits = stablehlo.bitcast_convert %r : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x7FC12345, 0x80000000]> : tensor<2xui32>
  %z = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %w = stablehlo.constant dense<[(5.0, 6.0), (7.0, 8.0)]> : tensor<2xcomplex<f64>>
  %c = stablehlo.select %p, %z, %w : tensor<2xi1>, tensor<2xcomplex<f64>>
  check.expect_eq_const %c, dense<[(1.0, 2.0), (7.0, 8.0)]> : tensor<2xcomplex<f64>>
  %a = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %b = stablehlo.constant dense<[1, 2]> : tensor<2xi4>
  %n = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xi4>
  check.expect_eq_const %n, dense<[-8, 2]> : tensor<2xi4>
  %q = stablehlo.select %p, %p, %p : tensor<2xi1>, tensor<2xi1>
  check.expect_eq_const %q, dense<[true, false]> : tensor<2xi1>
  func.return
}

// -----

// Sizes known only at run time; no elements at all.
func.func @shapes() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %cond = tensor.cast %p : tensor<2xi1> to tensor<?xi1>
  %a = tensor.cast %x : tensor<2xbf16> to tensor<?xbf16>
  %neg = stablehlo.negate %a : tensor<?xbf16>
  %b = stablehlo.select %cond, %a, %neg : tensor<?xi1>, tensor<?xbf16>
  %r = tensor.cast %b : tensor<?xbf16> to tensor<2xbf16>
  check.expect_eq_const %r, dense<[1.0, -2.0]> : tensor<2xbf16>
  %np = stablehlo.constant dense<> : tensor<0xi1>
  %nx = stablehlo.constant dense<> : tensor<0xui8>
  %n = stablehlo.select %np, %nx, %nx : tensor<0xi1>, tensor<0xui8>
  check.expect_eq_const %n, dense<> : tensor<0xui8>
  func.return
}
