// compare: in six directions.

// Signed and unsigned integers.
func.func @integers() {
  %x = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi32>
  %y = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi32>
  %eq = stablehlo.compare EQ, %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[false, true, false]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %x, %y, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[true, false, true]> : tensor<3xi1>
  %lt = stablehlo.compare LT, %x, %y, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[true, false, false]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[false, true, true]> : tensor<3xi1>
  %u = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %v = stablehlo.constant dense<[1, 1]> : tensor<2xui8>
  %gt = stablehlo.compare GT, %u, %v, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %gt, dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %b = stablehlo.constant dense<[7, -8]> : tensor<2xi4>
  %le = stablehlo.compare LE, %a, %b : (tensor<2xi4>, tensor<2xi4>) -> tensor<2xi1>
  check.expect_eq_const %le, dense<[true, false]> : tensor<2xi1>
  func.return
}

// -----

// NaN differs from everything, itself included; zeros are equal.
func.func @floats() {
  %x = stablehlo.constant dense<[0x7FC00000, 0.0, -1.0, 0xFF800000]> : tensor<4xf32>
  %y = stablehlo.constant dense<[0x7FC00000, -0.0, 0x7FC00000, 1.0]> : tensor<4xf32>
  %eq = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %eq, dense<[false, true, false, false]> : tensor<4xi1>
  %ne = stablehlo.compare NE, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ne, dense<[true, false, true, true]> : tensor<4xi1>
  %le = stablehlo.compare LE, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %le, dense<[false, true, false, true]> : tensor<4xi1>
  %ge = stablehlo.compare GE, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ge, dense<[false, true, false, false]> : tensor<4xi1>
  func.return
}

// -----

// The total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
func.func @total_order() {
  %x = stablehlo.constant dense<[0x7FC0, -0.0, 0xFFC0, 0x7F80]> : tensor<4xbf16>
  %y = stablehlo.constant dense<[0x7FC0, 0.0, 0xFF80, 0x7FC0]> : tensor<4xbf16>
  %eq = stablehlo.compare EQ, %x, %y, TOTALORDER : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  check.expect_eq_const %eq, dense<[true, false, false, false]> : tensor<4xi1>
  %lt = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  check.expect_eq_const %lt, dense<[false, true, true, true]> : tensor<4xi1>
  func.return
}

// -----

// Booleans, of which false is the smaller; complex numbers, by their real and then by their imaginary parts.
func.func @others() {
  %p = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %lt = stablehlo.compare LT, %p, %q, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  check.expect_eq_const %lt, dense<[false, true, false, false]> : tensor<4xi1>
  %x = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (0x7FC00000, 0.0)]> : tensor<3xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, 2.0), (1.0, -2.0), (0x7FC00000, 0.0)]> : tensor<3xcomplex<f32>>
  %eq = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[true, false, false]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %x, %y, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; scalars.
func.func @shapes() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %a = tensor.cast %x : tensor<2xf64> to tensor<?xf64>
  %b = stablehlo.compare LT, %a, %a : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
  %r = tensor.cast %b : tensor<?xi1> to tensor<2xi1>
  check.expect_eq_const %r, dense<false> : tensor<2xi1>
  %none = stablehlo.constant dense<> : tensor<2x0xi64>
  %n = stablehlo.compare EQ, %none, %none : (tensor<2x0xi64>, tensor<2x0xi64>) -> tensor<2x0xi1>
  check.expect_eq_const %n, dense<> : tensor<2x0xi1>
  %p = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %q = stablehlo.constant dense<1> : tensor<ui64>
  %s = stablehlo.compare GT, %p, %q : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
  check.expect_eq_const %s, dense<true> : tensor<i1>
  func.return
}
