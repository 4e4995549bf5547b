// Also: broadcast_or broadcast_shift_left broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_xor
//
// Bits of operands of different shapes.

// A mask for every row.
func.func @masks() {
  %x = stablehlo.constant dense<[[12, 10], [-1, 5]]> : tensor<2x2xi8>
  %mask = stablehlo.constant dense<[[6], [3]]> : tensor<2x1xi8>
  %and = chlo.broadcast_and %x, %mask : (tensor<2x2xi8>, tensor<2x1xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %and, dense<[[4, 2], [3, 1]]> : tensor<2x2xi8>
  %or = chlo.broadcast_or %x, %mask : (tensor<2x2xi8>, tensor<2x1xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %or, dense<[[14, 14], [-1, 7]]> : tensor<2x2xi8>
  %xor = chlo.broadcast_xor %x, %mask : (tensor<2x2xi8>, tensor<2x1xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %xor, dense<[[10, 12], [-4, 6]]> : tensor<2x2xi8>
  func.return
}

// -----

// Booleans.
func.func @booleans() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %and = chlo.broadcast_and %x, %t : (tensor<2xi1>, tensor<i1>) -> tensor<2xi1>
  check.expect_eq_const %and, dense<[true, false]> : tensor<2xi1>
  %or = chlo.broadcast_or %x, %t : (tensor<2xi1>, tensor<i1>) -> tensor<2xi1>
  check.expect_eq_const %or, dense<[true, true]> : tensor<2xi1>
  %xor = chlo.broadcast_xor %x, %t : (tensor<2xi1>, tensor<i1>) -> tensor<2xi1>
  check.expect_eq_const %xor, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

// One amount for all elements, and one element by all amounts; 8 bits are too many for i4.
func.func @shifts() {
  %x = stablehlo.constant dense<[[-8, 5]]> : tensor<1x2xi4>
  %by = stablehlo.constant dense<[[0], [1], [-8]]> : tensor<3x1xi4>
  %left = chlo.broadcast_shift_left %x, %by : (tensor<1x2xi4>, tensor<3x1xi4>) -> tensor<3x2xi4>
  check.expect_eq_const %left, dense<[[-8, 5], [0, -6], [0, 0]]> : tensor<3x2xi4>
  %logical = chlo.broadcast_shift_right_logical %x, %by : (tensor<1x2xi4>, tensor<3x1xi4>) -> tensor<3x2xi4>
  check.expect_eq_const %logical, dense<[[-8, 5], [4, 2], [0, 0]]> : tensor<3x2xi4>
  %arithmetic = chlo.broadcast_shift_right_arithmetic %x, %by : (tensor<1x2xi4>, tensor<3x1xi4>) -> tensor<3x2xi4>
  check.expect_eq_const %arithmetic, dense<[[-8, 5], [-4, 2], [-1, 0]]> : tensor<3x2xi4>
  func.return
}
