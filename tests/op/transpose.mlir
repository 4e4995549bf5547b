// transpose: result dimension i is operand dimension dims[i].

func.func @matrix() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  func.return
}

func.func @three_dimensions() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xui16>
  %r = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x2xui16>) -> tensor<2x2x3xui16>
  check.expect_eq_const %r, dense<[[[1, 3, 5], [7, 9, 11]], [[2, 4, 6], [8, 10, 12]]]> : tensor<2x2x3xui16>
  %s = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<2x3x2xui16>) -> tensor<3x2x2xui16>
  check.expect_eq_const %s, dense<[[[1, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]]> : tensor<3x2x2xui16>
  func.return
}

func.func @identity() {
  %x = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xbf16>
  %r = stablehlo.transpose %x, dims = [0, 1] : (tensor<1x2xbf16>) -> tensor<1x2xbf16>
  check.expect_eq_const %r, dense<[[1.0, 2.0]]> : tensor<1x2xbf16>
  %y = stablehlo.constant dense<3> : tensor<i8>
  %s = stablehlo.transpose %y, dims = [] : (tensor<i8>) -> tensor<i8>
  check.expect_eq_const %s, dense<3> : tensor<i8>
  func.return
}

func.func @complex() {
  %x = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 4.0)], [(5.0, 6.0), (7.0, 8.0)]]> : tensor<2x2xcomplex<f64>>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  check.expect_eq_const %r, dense<[[(1.0, 2.0), (5.0, 6.0)], [(3.0, 4.0), (7.0, 8.0)]]> : tensor<2x2xcomplex<f64>>
  func.return
}

// Larger than a block of the copy, and no multiple of one: element [i, j] of x is 1000 i + j.
func.func @large() {
  %i = stablehlo.iota dim = 0 : tensor<70x150xf32>
  %j = stablehlo.iota dim = 1 : tensor<70x150xf32>
  %thousand = stablehlo.constant dense<1000.0> : tensor<70x150xf32>
  %rows = stablehlo.multiply %i, %thousand : tensor<70x150xf32>
  %x = stablehlo.add %rows, %j : tensor<70x150xf32>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<70x150xf32>) -> tensor<150x70xf32>
  %jt = stablehlo.iota dim = 0 : tensor<150x70xf32>
  %it = stablehlo.iota dim = 1 : tensor<150x70xf32>
  %thousand_t = stablehlo.constant dense<1000.0> : tensor<150x70xf32>
  %columns = stablehlo.multiply %it, %thousand_t : tensor<150x70xf32>
  %expected = stablehlo.add %columns, %jt : tensor<150x70xf32>
  check.expect_eq %r, %expected : tensor<150x70xf32>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<2x0x3xi2>
  %r = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<2x0x3xi2>) -> tensor<3x0x2xi2>
  check.expect_eq_const %r, dense<> : tensor<3x0x2xi2>
  func.return
}

// -----

func.func @not_a_permutation() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // expected-error@+1 {{[transpose_c2]}}
  %r = stablehlo.transpose %x, dims = [1, 1] : (tensor<2x3xi32>) -> tensor<3x3xi32>
  func.return
}
