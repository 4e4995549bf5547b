// mulhi: the high half of the product of twice the width.

// Signed and unsigned products differ above the low half.
func.func @wide() {
  %x0 = stablehlo.constant dense<[-2147483648, 2147483647, -1, 65536]> : tensor<4xi32>
  %y0 = stablehlo.constant dense<[-2147483648, 2147483647, 1, 65536]> : tensor<4xi32>
  %r0 = chlo.mulhi %x0, %y0 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  check.expect_eq_const %r0, dense<[1073741824, 1073741823, -1, 1]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[4294967295, 65536, 7]> : tensor<3xui32>
  %y1 = stablehlo.constant dense<[4294967295, 65536, 9]> : tensor<3xui32>
  %r1 = chlo.mulhi %x1, %y1 : tensor<3xui32>, tensor<3xui32> -> tensor<3xui32>
  check.expect_eq_const %r1, dense<[4294967294, 1, 0]> : tensor<3xui32>
  %x2 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, -3]> : tensor<3xi64>
  %y2 = stablehlo.constant dense<[-9223372036854775808, -2, 5]> : tensor<3xi64>
  %r2 = chlo.mulhi %x2, %y2 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  check.expect_eq_const %r2, dense<[4611686018427387904, -1, -1]> : tensor<3xi64>
  %x3 = stablehlo.constant dense<[18446744073709551615, 1099511627776]> : tensor<2xui64>
  %y3 = stablehlo.constant dense<[18446744073709551615, 1099511627776]> : tensor<2xui64>
  %r3 = chlo.mulhi %x3, %y3 : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  check.expect_eq_const %r3, dense<[18446744073709551614, 65536]> : tensor<2xui64>
  func.return
}

// -----

// Also of the small types.
func.func @narrow() {
  %x0 = stablehlo.constant dense<[-128, 127, -1]> : tensor<3xi8>
  %y0 = stablehlo.constant dense<[-128, 127, 127]> : tensor<3xi8>
  %r0 = chlo.mulhi %x0, %y0 : tensor<3xi8>, tensor<3xi8> -> tensor<3xi8>
  check.expect_eq_const %r0, dense<[64, 63, -1]> : tensor<3xi8>
  %x1 = stablehlo.constant dense<[255, 16]> : tensor<2xui8>
  %y1 = stablehlo.constant dense<[255, 16]> : tensor<2xui8>
  %r1 = chlo.mulhi %x1, %y1 : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  check.expect_eq_const %r1, dense<[254, 1]> : tensor<2xui8>
  %x2 = stablehlo.constant dense<[-32768, 300]> : tensor<2xi16>
  %y2 = stablehlo.constant dense<[32767, 300]> : tensor<2xi16>
  %r2 = chlo.mulhi %x2, %y2 : tensor<2xi16>, tensor<2xi16> -> tensor<2xi16>
  check.expect_eq_const %r2, dense<[-16384, 1]> : tensor<2xi16>
  %x3 = stablehlo.constant dense<[65535]> : tensor<1xui16>
  %y3 = stablehlo.constant dense<[65535]> : tensor<1xui16>
  %r3 = chlo.mulhi %x3, %y3 : tensor<1xui16>, tensor<1xui16> -> tensor<1xui16>
  check.expect_eq_const %r3, dense<[65534]> : tensor<1xui16>
  %x4 = stablehlo.constant dense<[-8, 7, -8]> : tensor<3xi4>
  %y4 = stablehlo.constant dense<[-8, 7, 7]> : tensor<3xi4>
  %r4 = chlo.mulhi %x4, %y4 : tensor<3xi4>, tensor<3xi4> -> tensor<3xi4>
  check.expect_eq_const %r4, dense<[4, 3, -4]> : tensor<3xi4>
  %x5 = stablehlo.constant dense<[15, 4]> : tensor<2xui4>
  %y5 = stablehlo.constant dense<[15, 3]> : tensor<2xui4>
  %r5 = chlo.mulhi %x5, %y5 : tensor<2xui4>, tensor<2xui4> -> tensor<2xui4>
  check.expect_eq_const %r5, dense<[14, 0]> : tensor<2xui4>
  %x6 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %y6 = stablehlo.constant dense<[-2, -1]> : tensor<2xi2>
  %r6 = chlo.mulhi %x6, %y6 : tensor<2xi2>, tensor<2xi2> -> tensor<2xi2>
  check.expect_eq_const %r6, dense<[1, -1]> : tensor<2xi2>
  %x7 = stablehlo.constant dense<[3, 2]> : tensor<2xui2>
  %y7 = stablehlo.constant dense<[3, 1]> : tensor<2xui2>
  %r7 = chlo.mulhi %x7, %y7 : tensor<2xui2>, tensor<2xui2> -> tensor<2xui2>
  check.expect_eq_const %r7, dense<[2, 0]> : tensor<2xui2>
  func.return
}

// -----

// No elements, and one.
func.func @shapes() {
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %r = chlo.mulhi %none, %none : tensor<0xi32>, tensor<0xi32> -> tensor<0xi32>
  check.expect_eq_const %r, dense<> : tensor<0xi32>
  %x = stablehlo.constant dense<200> : tensor<ui8>
  %s = chlo.mulhi %x, %x : tensor<ui8>, tensor<ui8> -> tensor<ui8>
  check.expect_eq_const %s, dense<156> : tensor<ui8>
  func.return
}
