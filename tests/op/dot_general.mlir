// Also: dot

func.func @matrix_product() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = stablehlo.constant dense<[[1, 0], [0, 1], [2, 2]]> : tensor<3x2xi32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[7, 8], [16, 17]]> : tensor<2x2xi32>
  %1 = stablehlo.dot %a, %b : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq %0, %1 : tensor<2x2xi32>
  %2 = stablehlo.dot_general %a, %b, contracting_dims = [1, 0] x [0, 1] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<i32>
  check.expect_eq_const %2, dense<24> : tensor<i32>
  return
}

// -----

// Batch dimensions lead the result wherever they stand in the operands.
func.func @batches() {
  %a = stablehlo.constant dense<[[[1.0, 10.0], [2.0, 20.0]], [[3.0, 30.0], [4.0, 40.0]]]> : tensor<2x2x2xf32>
  %b = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [2] x [1], contracting_dims = [0] x [0] : (tensor<2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[10.0, 14.0], [140.0, 200.0]]> : tensor<2x2xf32>
  return
}

// -----

// Products of narrow integers in a wide result, and the outer product.
func.func @types() {
  %a = stablehlo.constant dense<[100, -100]> : tensor<2xi8>
  %b = stablehlo.constant dense<[100, 100]> : tensor<2xi8>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xi8>, tensor<2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[10000, 10000], [-10000, -10000]]> : tensor<2x2xi32>
  %p = stablehlo.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
  %1 = stablehlo.dot_general %p, %p, contracting_dims = [1] x [1] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
  check.expect_eq %1, %p : tensor<2x2xi1>
  %c = stablehlo.constant dense<[(1.0, 2.0), (0.0, 1.0)]> : tensor<2xcomplex<f64>>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> tensor<complex<f64>>
  check.expect_almost_eq_const %2, dense<(-4.0, 4.0)> : tensor<complex<f64>>
  return
}

// -----

// Sums of bf16 products are rounded once.
func.func @narrow_floats() {
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %a = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<bf16>) -> tensor<1x1024xbf16>
  %b = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<bf16>) -> tensor<1024x1xbf16>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<1x1024xbf16>, tensor<1024x1xbf16>) -> tensor<1x1xbf16>
  check.expect_eq_const %0, dense<1024.0> : tensor<1x1xbf16>
  return
}

// -----

// JAX multiplies floats with integers, too.
func.func @mixed_kinds() {
  %a = stablehlo.constant dense<[[0.5, -1.5, 4.0]]> : tensor<1x3xf32>
  %b = stablehlo.constant dense<[[2], [3], [-5]]> : tensor<3x1xi64>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x3xf32>, tensor<3x1xi64>) -> tensor<1x1xf32>
  check.expect_eq_const %0, dense<-23.5> : tensor<1x1xf32>
  %p = stablehlo.constant dense<[[true, false, true]]> : tensor<1x3xi1>
  %c = stablehlo.constant dense<[(1.0, 2.0), (7.0, 7.0), (0.0, -1.0)]> : tensor<3xcomplex<f32>>
  %1 = stablehlo.dot_general %p, %c, contracting_dims = [1] x [0] : (tensor<1x3xi1>, tensor<3xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  check.expect_almost_eq_const %1, dense<(1.0, 1.0)> : tensor<1xcomplex<f32>>
  return
}

// -----

func.func @empty() {
  %a = stablehlo.constant dense<> : tensor<2x0xf32>
  %b = stablehlo.constant dense<> : tensor<0x3xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %0, dense<0.0> : tensor<2x3xf32>
  return
}

// -----
// Many rows, and an operand with a dimension of size 1.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<16x1x4xi32>
  %y = stablehlo.iota dim = 1 : tensor<16x16x4xi32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [2] x [2] : (tensor<16x1x4xi32>, tensor<16x16x4xi32>) -> tensor<16x1x16x16xi32>
  %i = stablehlo.iota dim = 0 : tensor<16x1x16x16xi32>
  %j = stablehlo.iota dim = 3 : tensor<16x1x16x16xi32>
  %c = stablehlo.constant dense<4> : tensor<16x1x16x16xi32>
  %1 = stablehlo.multiply %i, %j : tensor<16x1x16x16xi32>
  %2 = stablehlo.multiply %1, %c : tensor<16x1x16x16xi32>
  check.expect_eq %0, %2 : tensor<16x1x16x16xi32>
  return
}
// -----
// A vector times a matrix for each of two batch dimensions that the matrix has apart, as in a decode step of attention: no rows.
func.func @main() {
  %q = stablehlo.iota dim = 1 : tensor<4x4x32xf32>
  %k = stablehlo.iota dim = 1 : tensor<4x128x4x32xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3] : (tensor<4x4x32xf32>, tensor<4x128x4x32xf32>) -> tensor<4x4x128xf32>
  %i = stablehlo.iota dim = 1 : tensor<4x4x128xf32>
  %j = stablehlo.iota dim = 2 : tensor<4x4x128xf32>
  %c = stablehlo.constant dense<32.0> : tensor<4x4x128xf32>
  %1 = stablehlo.multiply %i, %j : tensor<4x4x128xf32>
  %2 = stablehlo.multiply %1, %c : tensor<4x4x128xf32>
  check.expect_eq %0, %2 : tensor<4x4x128xf32>
  return
}
