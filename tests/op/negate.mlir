// negate: integers wrap.

// Unsigned ones too; the smallest signed one stays.
func.func @integers() {
  %x0 = stablehlo.constant dense<[5, 0, -2147483648]> : tensor<3xi32>
  %r0 = stablehlo.negate %x0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[-5, 0, -2147483648]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[1, 0]> : tensor<2xui32>
  %r1 = stablehlo.negate %x1 : tensor<2xui32>
  check.expect_eq_const %r1, dense<[4294967295, 0]> : tensor<2xui32>
  %x2 = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
  %r2 = stablehlo.negate %x2 : tensor<2xi8>
  check.expect_eq_const %r2, dense<[-128, -127]> : tensor<2xi8>
  %x3 = stablehlo.constant dense<[1, 200]> : tensor<2xui8>
  %r3 = stablehlo.negate %x3 : tensor<2xui8>
  check.expect_eq_const %r3, dense<[255, 56]> : tensor<2xui8>
  %x4 = stablehlo.constant dense<[-8, 3]> : tensor<2xi4>
  %r4 = stablehlo.negate %x4 : tensor<2xi4>
  check.expect_eq_const %r4, dense<[-8, -3]> : tensor<2xi4>
  %x5 = stablehlo.constant dense<[1, 9]> : tensor<2xui4>
  %r5 = stablehlo.negate %x5 : tensor<2xui4>
  check.expect_eq_const %r5, dense<[15, 7]> : tensor<2xui4>
  %x6 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %r6 = stablehlo.negate %x6 : tensor<2xi2>
  check.expect_eq_const %r6, dense<[-2, -1]> : tensor<2xi2>
  %x7 = stablehlo.constant dense<[9223372036854775807]> : tensor<1xi64>
  %r7 = stablehlo.negate %x7 : tensor<1xi64>
  check.expect_eq_const %r7, dense<[-9223372036854775807]> : tensor<1xi64>
  func.return
}

// -----

// Zeros change their signs, where the format has two.
func.func @floats() {
  %x0 = stablehlo.constant dense<[1.5, 0x7FF0000000000000]> : tensor<2xf64>
  %r0 = stablehlo.negate %x0 : tensor<2xf64>
  check.expect_eq_const %r0, dense<[-1.5, 0xFFF0000000000000]> : tensor<2xf64>
  %x1 = stablehlo.constant dense<[-2.0]> : tensor<1xbf16>
  %r1 = stablehlo.negate %x1 : tensor<1xbf16>
  check.expect_eq_const %r1, dense<[2.0]> : tensor<1xbf16>
  %x2 = stablehlo.constant dense<[-1.0, 0.0]> : tensor<2xf8E5M2FNUZ>
  %r2 = stablehlo.negate %x2 : tensor<2xf8E5M2FNUZ>
  check.expect_eq_const %r2, dense<[1.0, 0.0]> : tensor<2xf8E5M2FNUZ>
  %z = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %s = stablehlo.negate %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x80000000, 0x00000000]> : tensor<2xui32>
  func.return
}

// -----

// Both parts.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>
  %r0 = stablehlo.negate %x0 : tensor<1xcomplex<f32>>
  check.expect_eq_const %r0, dense<[(-1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(-0.5, 0x7FF0000000000000)]> : tensor<1xcomplex<f64>>
  %r1 = stablehlo.negate %x1 : tensor<1xcomplex<f64>>
  check.expect_eq_const %r1, dense<[(0.5, 0xFFF0000000000000)]> : tensor<1xcomplex<f64>>
  func.return
}
