// broadcast_compare: comparison of operands of different shapes.

// With a scalar, with a row, and with a column.
func.func @shapes() {
  %x = stablehlo.constant dense<[[1, 5], [7, 3]]> : tensor<2x2xui8>
  %s = stablehlo.constant dense<3> : tensor<ui8>
  %gt = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction GT>}
    : (tensor<2x2xui8>, tensor<ui8>) -> tensor<2x2xi1>
  check.expect_eq_const %gt, dense<[[false, true], [true, false]]> : tensor<2x2xi1>
  %v = stablehlo.constant dense<[1, 3]> : tensor<2xui8>
  %row = chlo.broadcast_compare %x, %v {comparison_direction = #chlo<comparison_direction EQ>}
    : (tensor<2x2xui8>, tensor<2xui8>) -> tensor<2x2xi1>
  check.expect_eq_const %row, dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  %column = chlo.broadcast_compare %x, %v {broadcast_dimensions = array<i64: 0>,
                                           comparison_direction = #chlo<comparison_direction EQ>}
    : (tensor<2x2xui8>, tensor<2xui8>) -> tensor<2x2xi1>
  check.expect_eq_const %column, dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  func.return
}

// -----

// NaN is unequal to itself, but not in the total order.
func.func @floats() {
  %x = stablehlo.constant dense<[0x7FC00000, -0.0, 1.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[[0x7FC00000], [0.0]]> : tensor<2x1xf32>
  %eq = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction EQ>}
    : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xi1>
  check.expect_eq_const %eq, dense<[[false, false, false], [false, true, false]]> : tensor<2x3xi1>
  %total = chlo.broadcast_compare %x, %y {compare_type = #chlo<comparison_type TOTALORDER>,
                                          comparison_direction = #chlo<comparison_direction EQ>}
    : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xi1>
  check.expect_eq_const %total, dense<[[true, false, false], [false, false, false]]> : tensor<2x3xi1>
  func.return
}
