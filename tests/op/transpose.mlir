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

// Numbers in memory: an element of a transposed tensor and one of another. Dimensions that stay together are one line, which vectors do
// not fill; rows are no multiple of a square.
func.func @channels_first() {
  %i = stablehlo.iota dim = 0 : tensor<2795xf32>
  %v = stablehlo.reshape %i : (tensor<2795xf32>) -> tensor<1x5x13x43xf32>
  %k = stablehlo.reshape %i : (tensor<2795xf32>) -> tensor<1x43x5x13xf32>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<1x5x13x43xf32>, tensor<1x43x5x13xf32>
  %r = stablehlo.transpose %x#0, dims = [0, 3, 1, 2] : (tensor<1x5x13x43xf32>) -> tensor<1x43x5x13xf32>
  %s = stablehlo.add %r, %x#1 : tensor<1x43x5x13xf32>
  %i1 = stablehlo.iota dim = 1 : tensor<1x43x5x13xf32>
  %c1 = stablehlo.constant dense<66.0> : tensor<1x43x5x13xf32>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<1x43x5x13xf32>
  %i2 = stablehlo.iota dim = 2 : tensor<1x43x5x13xf32>
  %c2 = stablehlo.constant dense<572.0> : tensor<1x43x5x13xf32>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<1x43x5x13xf32>
  %e2 = stablehlo.add %p1, %p2 : tensor<1x43x5x13xf32>
  %i3 = stablehlo.iota dim = 3 : tensor<1x43x5x13xf32>
  %c3 = stablehlo.constant dense<44.0> : tensor<1x43x5x13xf32>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<1x43x5x13xf32>
  %e3 = stablehlo.add %e2, %p3 : tensor<1x43x5x13xf32>
  check.expect_eq %s, %e3 : tensor<1x43x5x13xf32>
  func.return
}

// The same back.
func.func @channels_last() {
  %i = stablehlo.iota dim = 0 : tensor<2795xf32>
  %v = stablehlo.reshape %i : (tensor<2795xf32>) -> tensor<1x43x5x13xf32>
  %k = stablehlo.reshape %i : (tensor<2795xf32>) -> tensor<1x5x13x43xf32>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<1x43x5x13xf32>, tensor<1x5x13x43xf32>
  %r = stablehlo.transpose %x#0, dims = [0, 2, 3, 1] : (tensor<1x43x5x13xf32>) -> tensor<1x5x13x43xf32>
  %s = stablehlo.add %r, %x#1 : tensor<1x5x13x43xf32>
  %i1 = stablehlo.iota dim = 1 : tensor<1x5x13x43xf32>
  %c1 = stablehlo.constant dense<572.0> : tensor<1x5x13x43xf32>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<1x5x13x43xf32>
  %i2 = stablehlo.iota dim = 2 : tensor<1x5x13x43xf32>
  %c2 = stablehlo.constant dense<44.0> : tensor<1x5x13x43xf32>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<1x5x13x43xf32>
  %e2 = stablehlo.add %p1, %p2 : tensor<1x5x13x43xf32>
  %i3 = stablehlo.iota dim = 3 : tensor<1x5x13x43xf32>
  %c3 = stablehlo.constant dense<66.0> : tensor<1x5x13x43xf32>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<1x5x13x43xf32>
  %e3 = stablehlo.add %e2, %p3 : tensor<1x5x13x43xf32>
  check.expect_eq %s, %e3 : tensor<1x5x13x43xf32>
  func.return
}

// Elements of two bytes.
func.func @two_bytes() {
  %i = stablehlo.iota dim = 0 : tensor<2795xi16>
  %v = stablehlo.reshape %i : (tensor<2795xi16>) -> tensor<1x43x5x13xi16>
  %k = stablehlo.reshape %i : (tensor<2795xi16>) -> tensor<1x5x13x43xi16>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<1x43x5x13xi16>, tensor<1x5x13x43xi16>
  %r = stablehlo.transpose %x#0, dims = [0, 2, 3, 1] : (tensor<1x43x5x13xi16>) -> tensor<1x5x13x43xi16>
  %s = stablehlo.add %r, %x#1 : tensor<1x5x13x43xi16>
  %i1 = stablehlo.iota dim = 1 : tensor<1x5x13x43xi16>
  %c1 = stablehlo.constant dense<572> : tensor<1x5x13x43xi16>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<1x5x13x43xi16>
  %i2 = stablehlo.iota dim = 2 : tensor<1x5x13x43xi16>
  %c2 = stablehlo.constant dense<44> : tensor<1x5x13x43xi16>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<1x5x13x43xi16>
  %e2 = stablehlo.add %p1, %p2 : tensor<1x5x13x43xi16>
  %i3 = stablehlo.iota dim = 3 : tensor<1x5x13x43xi16>
  %c3 = stablehlo.constant dense<66> : tensor<1x5x13x43xi16>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<1x5x13x43xi16>
  %e3 = stablehlo.add %e2, %p3 : tensor<1x5x13x43xi16>
  check.expect_eq %s, %e3 : tensor<1x5x13x43xi16>
  func.return
}

// Elements that are not transposed in registers.
func.func @eight_bytes() {
  %i = stablehlo.iota dim = 0 : tensor<1260xf64>
  %v = stablehlo.reshape %i : (tensor<1260xf64>) -> tensor<1x7x9x20xf64>
  %k = stablehlo.reshape %i : (tensor<1260xf64>) -> tensor<1x20x7x9xf64>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<1x7x9x20xf64>, tensor<1x20x7x9xf64>
  %r = stablehlo.transpose %x#0, dims = [0, 3, 1, 2] : (tensor<1x7x9x20xf64>) -> tensor<1x20x7x9xf64>
  %s = stablehlo.add %r, %x#1 : tensor<1x20x7x9xf64>
  %i1 = stablehlo.iota dim = 1 : tensor<1x20x7x9xf64>
  %c1 = stablehlo.constant dense<64.0> : tensor<1x20x7x9xf64>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<1x20x7x9xf64>
  %i2 = stablehlo.iota dim = 2 : tensor<1x20x7x9xf64>
  %c2 = stablehlo.constant dense<189.0> : tensor<1x20x7x9xf64>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<1x20x7x9xf64>
  %e2 = stablehlo.add %p1, %p2 : tensor<1x20x7x9xf64>
  %i3 = stablehlo.iota dim = 3 : tensor<1x20x7x9xf64>
  %c3 = stablehlo.constant dense<21.0> : tensor<1x20x7x9xf64>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<1x20x7x9xf64>
  %e3 = stablehlo.add %e2, %p3 : tensor<1x20x7x9xf64>
  check.expect_eq %s, %e3 : tensor<1x20x7x9xf64>
  func.return
}

// No dimensions stay together; another one is outside.
func.func @apart() {
  %i = stablehlo.iota dim = 0 : tensor<10692xi32>
  %v = stablehlo.reshape %i : (tensor<10692xi32>) -> tensor<6x11x9x18xi32>
  %k = stablehlo.reshape %i : (tensor<10692xi32>) -> tensor<18x11x6x9xi32>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<6x11x9x18xi32>, tensor<18x11x6x9xi32>
  %r = stablehlo.transpose %x#0, dims = [3, 1, 0, 2] : (tensor<6x11x9x18xi32>) -> tensor<18x11x6x9xi32>
  %s = stablehlo.add %r, %x#1 : tensor<18x11x6x9xi32>
  %i0 = stablehlo.iota dim = 0 : tensor<18x11x6x9xi32>
  %c0 = stablehlo.constant dense<595> : tensor<18x11x6x9xi32>
  %p0 = stablehlo.multiply %i0, %c0 : tensor<18x11x6x9xi32>
  %i1 = stablehlo.iota dim = 1 : tensor<18x11x6x9xi32>
  %c1 = stablehlo.constant dense<216> : tensor<18x11x6x9xi32>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<18x11x6x9xi32>
  %e1 = stablehlo.add %p0, %p1 : tensor<18x11x6x9xi32>
  %i2 = stablehlo.iota dim = 2 : tensor<18x11x6x9xi32>
  %c2 = stablehlo.constant dense<1791> : tensor<18x11x6x9xi32>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<18x11x6x9xi32>
  %e2 = stablehlo.add %e1, %p2 : tensor<18x11x6x9xi32>
  %i3 = stablehlo.iota dim = 3 : tensor<18x11x6x9xi32>
  %c3 = stablehlo.constant dense<19> : tensor<18x11x6x9xi32>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<18x11x6x9xi32>
  %e3 = stablehlo.add %e2, %p3 : tensor<18x11x6x9xi32>
  check.expect_eq %s, %e3 : tensor<18x11x6x9xi32>
  func.return
}

// What is read besides keeps the dimensions apart.
func.func @line() {
  %i = stablehlo.iota dim = 0 : tensor<3120xi32>
  %v = stablehlo.reshape %i : (tensor<3120xi32>) -> tensor<2x5x13x24xi32>
  %k = stablehlo.iota dim = 0 : tensor<13xi32>
  %x:2 = stablehlo.optimization_barrier %v, %k : tensor<2x5x13x24xi32>, tensor<13xi32>
  %r = stablehlo.transpose %x#0, dims = [0, 3, 1, 2] : (tensor<2x5x13x24xi32>) -> tensor<2x24x5x13xi32>
  %b = stablehlo.broadcast_in_dim %x#1, dims = [3] : (tensor<13xi32>) -> tensor<2x24x5x13xi32>
  %s = stablehlo.add %r, %b : tensor<2x24x5x13xi32>
  %i0 = stablehlo.iota dim = 0 : tensor<2x24x5x13xi32>
  %c0 = stablehlo.constant dense<1560> : tensor<2x24x5x13xi32>
  %p0 = stablehlo.multiply %i0, %c0 : tensor<2x24x5x13xi32>
  %i1 = stablehlo.iota dim = 1 : tensor<2x24x5x13xi32>
  %c1 = stablehlo.constant dense<1> : tensor<2x24x5x13xi32>
  %p1 = stablehlo.multiply %i1, %c1 : tensor<2x24x5x13xi32>
  %e1 = stablehlo.add %p0, %p1 : tensor<2x24x5x13xi32>
  %i2 = stablehlo.iota dim = 2 : tensor<2x24x5x13xi32>
  %c2 = stablehlo.constant dense<312> : tensor<2x24x5x13xi32>
  %p2 = stablehlo.multiply %i2, %c2 : tensor<2x24x5x13xi32>
  %e2 = stablehlo.add %e1, %p2 : tensor<2x24x5x13xi32>
  %i3 = stablehlo.iota dim = 3 : tensor<2x24x5x13xi32>
  %c3 = stablehlo.constant dense<25> : tensor<2x24x5x13xi32>
  %p3 = stablehlo.multiply %i3, %c3 : tensor<2x24x5x13xi32>
  %e3 = stablehlo.add %e2, %p3 : tensor<2x24x5x13xi32>
  check.expect_eq %s, %e3 : tensor<2x24x5x13xi32>
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
