// count_leading_zeros: counted within the width of the type; of zero it is the width.

// Signed and unsigned.
func.func @integers() {
  %x0 = stablehlo.constant dense<[0, 1, -1, 65536]> : tensor<4xi32>
  %r0 = stablehlo.count_leading_zeros %x0 : tensor<4xi32>
  check.expect_eq_const %r0, dense<[32, 31, 0, 15]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[255, 4294967295]> : tensor<2xui32>
  %r1 = stablehlo.count_leading_zeros %x1 : tensor<2xui32>
  check.expect_eq_const %r1, dense<[24, 0]> : tensor<2xui32>
  %x2 = stablehlo.constant dense<[0, -1, 9223372036854775807]> : tensor<3xi64>
  %r2 = stablehlo.count_leading_zeros %x2 : tensor<3xi64>
  check.expect_eq_const %r2, dense<[64, 0, 1]> : tensor<3xi64>
  %x3 = stablehlo.constant dense<[9223372036854775808, 1]> : tensor<2xui64>
  %r3 = stablehlo.count_leading_zeros %x3 : tensor<2xui64>
  check.expect_eq_const %r3, dense<[0, 63]> : tensor<2xui64>
  %x4 = stablehlo.constant dense<[-128, 1]> : tensor<2xi8>
  %r4 = stablehlo.count_leading_zeros %x4 : tensor<2xi8>
  check.expect_eq_const %r4, dense<[0, 7]> : tensor<2xi8>
  %x5 = stablehlo.constant dense<[0, 16]> : tensor<2xui8>
  %r5 = stablehlo.count_leading_zeros %x5 : tensor<2xui8>
  check.expect_eq_const %r5, dense<[8, 3]> : tensor<2xui8>
  %x6 = stablehlo.constant dense<[256, -1]> : tensor<2xi16>
  %r6 = stablehlo.count_leading_zeros %x6 : tensor<2xi16>
  check.expect_eq_const %r6, dense<[7, 0]> : tensor<2xi16>
  %x7 = stablehlo.constant dense<[4096]> : tensor<1xui16>
  %r7 = stablehlo.count_leading_zeros %x7 : tensor<1xui16>
  check.expect_eq_const %r7, dense<[3]> : tensor<1xui16>
  func.return
}

// -----

// In four and two bits.
func.func @narrow() {
  %x0 = stablehlo.constant dense<[-1, 1, 5]> : tensor<3xi4>
  %r0 = stablehlo.count_leading_zeros %x0 : tensor<3xi4>
  check.expect_eq_const %r0, dense<[0, 3, 1]> : tensor<3xi4>
  %x1 = stablehlo.constant dense<[3, 8]> : tensor<2xui4>
  %r1 = stablehlo.count_leading_zeros %x1 : tensor<2xui4>
  check.expect_eq_const %r1, dense<[2, 0]> : tensor<2xui4>
  %x2 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %r2 = stablehlo.count_leading_zeros %x2 : tensor<2xi2>
  check.expect_eq_const %r2, dense<[0, 1]> : tensor<2xi2>
  %x3 = stablehlo.constant dense<[1, 3]> : tensor<2xui2>
  %r3 = stablehlo.count_leading_zeros %x3 : tensor<2xui2>
  check.expect_eq_const %r3, dense<[1, 0]> : tensor<2xui2>
  func.return
}
