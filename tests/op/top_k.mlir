// chlo.top_k: the k largest elements of each line of the last dimension, and where they were.

func.func @lines() {
  %x = stablehlo.constant dense<[[3, 1, 4, 1, 5], [-9, -2, -6, -5, -3]]> : tensor<2x5xi32>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<2x5xi32> -> (tensor<2x3xi32>, tensor<2x3xi32>)
  check.expect_eq_const %v, dense<[[5, 4, 3], [-2, -3, -5]]> : tensor<2x3xi32>
  check.expect_eq_const %i, dense<[[4, 2, 0], [1, 4, 3]]> : tensor<2x3xi32>
  func.return
}

// Equal elements keep their order, whichever of them are taken.
func.func @stable() {
  %x = stablehlo.constant dense<[1, 2, 2, 1, 2, 1]> : tensor<6xui8>
  %v, %i = chlo.top_k(%x, k = 2) : tensor<6xui8> -> (tensor<2xui8>, tensor<2xi32>)
  check.expect_eq_const %i, dense<[1, 2]> : tensor<2xi32>
  %all, %order = chlo.top_k(%x, k = 6) : tensor<6xui8> -> (tensor<6xui8>, tensor<6xi32>)
  check.expect_eq_const %all, dense<[2, 2, 2, 1, 1, 1]> : tensor<6xui8>
  check.expect_eq_const %order, dense<[1, 2, 4, 0, 3, 5]> : tensor<6xi32>
  func.return
}

func.func @extremes() {
  %x = stablehlo.constant dense<[0, 9223372036854775808, 18446744073709551615]> : tensor<3xui64>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<3xui64> -> (tensor<3xui64>, tensor<3xi32>)
  check.expect_eq_const %i, dense<[2, 1, 0]> : tensor<3xi32>
  %y = stablehlo.constant dense<[-9223372036854775808, 0, 9223372036854775807]> : tensor<3xi64>
  %w, %j = chlo.top_k(%y, k = 3) : tensor<3xi64> -> (tensor<3xi64>, tensor<3xi32>)
  check.expect_eq_const %j, dense<[2, 1, 0]> : tensor<3xi32>
  func.return
}

// NaN, infinity, 0, -0, -infinity, negative NaN.
func.func @total_order() {
  %x = stablehlo.constant dense<[0xFFC00000, 0xFF800000, 0x80000000, 0.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  %v, %i = chlo.top_k(%x, k = 6) : tensor<6xf32> -> (tensor<6xf32>, tensor<6xi32>)
  check.expect_eq_const %i, dense<[5, 4, 3, 2, 1, 0]> : tensor<6xi32>
  func.return
}

func.func @other_types() {
  %f16 = stablehlo.constant dense<[-1.5, 0.25, -0.5]> : tensor<3xf16>
  %v, %i = chlo.top_k(%f16, k = 1) : tensor<3xf16> -> (tensor<1xf16>, tensor<1xi32>)
  check.expect_eq_const %v, dense<[0.25]> : tensor<1xf16>
  %f8 = stablehlo.constant dense<[-1.5, 0.25, 3.0]> : tensor<3xf8E4M3FNUZ>
  %w, %j = chlo.top_k(%f8, k = 2) : tensor<3xf8E4M3FNUZ> -> (tensor<2xf8E4M3FNUZ>, tensor<2xi32>)
  check.expect_eq_const %w, dense<[3.0, 0.25]> : tensor<2xf8E4M3FNUZ>
  %i4 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
  %u, %k = chlo.top_k(%i4, k = 2) : tensor<3xi4> -> (tensor<2xi4>, tensor<2xi32>)
  check.expect_eq_const %u, dense<[7, -1]> : tensor<2xi4>
  %i1 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %b, %l = chlo.top_k(%i1, k = 1) : tensor<2xi1> -> (tensor<1xi1>, tensor<1xi32>)
  check.expect_eq_const %l, dense<[1]> : tensor<1xi32>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi16>
  %v, %i = chlo.top_k(%x, k = 0) : tensor<2x2xi16> -> (tensor<2x0xi16>, tensor<2x0xi32>)
  check.expect_eq_const %v, dense<> : tensor<2x0xi16>
  %none = stablehlo.constant dense<> : tensor<0x2xi16>
  %w, %j = chlo.top_k(%none, k = 1) : tensor<0x2xi16> -> (tensor<0x1xi16>, tensor<0x1xi32>)
  check.expect_eq_const %j, dense<> : tensor<0x1xi32>
  func.return
}
