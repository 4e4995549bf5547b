// shift_left: zeros come in; amounts are unsigned, and from the width on nothing is left.

// From one bit to all but one.
func.func @in_range() {
  %x0 = stablehlo.constant dense<[1, -1, -8, -2147483648]> : tensor<4xi32>
  %y0 = stablehlo.constant dense<[4, 31, 1, 3]> : tensor<4xi32>
  %r0 = stablehlo.shift_left %x0, %y0 : tensor<4xi32>
  check.expect_eq_const %r0, dense<[16, -2147483648, -16, 0]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[1, 4294967295, 4026531840]> : tensor<3xui32>
  %y1 = stablehlo.constant dense<[31, 1, 4]> : tensor<3xui32>
  %r1 = stablehlo.shift_left %x1, %y1 : tensor<3xui32>
  check.expect_eq_const %r1, dense<[2147483648, 4294967294, 0]> : tensor<3xui32>
  %x2 = stablehlo.constant dense<[5, -9223372036854775808]> : tensor<2xi64>
  %y2 = stablehlo.constant dense<[40, 62]> : tensor<2xi64>
  %r2 = stablehlo.shift_left %x2, %y2 : tensor<2xi64>
  check.expect_eq_const %r2, dense<[5497558138880, 0]> : tensor<2xi64>
  %x3 = stablehlo.constant dense<[-128, 100]> : tensor<2xi8>
  %y3 = stablehlo.constant dense<[2, 1]> : tensor<2xi8>
  %r3 = stablehlo.shift_left %x3, %y3 : tensor<2xi8>
  check.expect_eq_const %r3, dense<[0, -56]> : tensor<2xi8>
  %x4 = stablehlo.constant dense<[43981, 32768]> : tensor<2xui16>
  %y4 = stablehlo.constant dense<[4, 15]> : tensor<2xui16>
  %r4 = stablehlo.shift_left %x4, %y4 : tensor<2xui16>
  check.expect_eq_const %r4, dense<[48336, 0]> : tensor<2xui16>
  %x5 = stablehlo.constant dense<[-8, 5]> : tensor<2xi4>
  %y5 = stablehlo.constant dense<[1, 1]> : tensor<2xi4>
  %r5 = stablehlo.shift_left %x5, %y5 : tensor<2xi4>
  check.expect_eq_const %r5, dense<[0, -6]> : tensor<2xi4>
  %x6 = stablehlo.constant dense<[9, 15]> : tensor<2xui4>
  %y6 = stablehlo.constant dense<[2, 3]> : tensor<2xui4>
  %r6 = stablehlo.shift_left %x6, %y6 : tensor<2xui4>
  check.expect_eq_const %r6, dense<[4, 8]> : tensor<2xui4>
  %x7 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %y7 = stablehlo.constant dense<[1, 1]> : tensor<2xi2>
  %r7 = stablehlo.shift_left %x7, %y7 : tensor<2xi2>
  check.expect_eq_const %r7, dense<[0, -2]> : tensor<2xi2>
  func.return
}

// -----

// By the width, by more, and by what reads as negative.
func.func @too_far() {
  %x0 = stablehlo.constant dense<[-1, 5, -5, 7]> : tensor<4xi32>
  %y0 = stablehlo.constant dense<[32, 33, -1, -2147483648]> : tensor<4xi32>
  %r0 = stablehlo.shift_left %x0, %y0 : tensor<4xi32>
  check.expect_eq_const %r0, dense<[0, 0, 0, 0]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[255, 255, 1]> : tensor<3xui8>
  %y1 = stablehlo.constant dense<[8, 200, 255]> : tensor<3xui8>
  %r1 = stablehlo.shift_left %x1, %y1 : tensor<3xui8>
  check.expect_eq_const %r1, dense<[0, 0, 0]> : tensor<3xui8>
  %x2 = stablehlo.constant dense<[-3, 3]> : tensor<2xi4>
  %y2 = stablehlo.constant dense<[4, 7]> : tensor<2xi4>
  %r2 = stablehlo.shift_left %x2, %y2 : tensor<2xi4>
  check.expect_eq_const %r2, dense<[0, 0]> : tensor<2xi4>
  %x3 = stablehlo.constant dense<[3, 3]> : tensor<2xui2>
  %y3 = stablehlo.constant dense<[2, 3]> : tensor<2xui2>
  %r3 = stablehlo.shift_left %x3, %y3 : tensor<2xui2>
  check.expect_eq_const %r3, dense<[0, 0]> : tensor<2xui2>
  %x4 = stablehlo.constant dense<[-1, 1]> : tensor<2xi64>
  %y4 = stablehlo.constant dense<[64, -1]> : tensor<2xi64>
  %r4 = stablehlo.shift_left %x4, %y4 : tensor<2xi64>
  check.expect_eq_const %r4, dense<[0, 0]> : tensor<2xi64>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; scalars.
func.func @shapes() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %y = stablehlo.constant dense<[1, 2, 33]> : tensor<3xi32>
  %a = tensor.cast %x : tensor<3xi32> to tensor<?xi32>
  %b = tensor.cast %y : tensor<3xi32> to tensor<?xi32>
  %c = stablehlo.shift_left %a, %b : tensor<?xi32>
  %r = tensor.cast %c : tensor<?xi32> to tensor<3xi32>
  check.expect_eq_const %r, dense<[2, 8, 0]> : tensor<3xi32>
  %none = stablehlo.constant dense<> : tensor<2x0xi32>
  %n = stablehlo.shift_left %none, %none : tensor<2x0xi32>
  check.expect_eq_const %n, dense<> : tensor<2x0xi32>
  %p = stablehlo.constant dense<1> : tensor<i32>
  %q = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.shift_left %p, %q : tensor<i32>
  check.expect_eq_const %s, dense<2> : tensor<i32>
  func.return
}
