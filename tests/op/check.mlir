// Also: expect_almost_eq expect_almost_eq_const expect_close expect_eq expect_eq_const
//
// check.*: what each of them accepts.

func.func @expect_eq() {
  %x = stablehlo.constant dense<[0.0, 0x7F800000, 1.5]> : tensor<3xf32>
  %y = stablehlo.constant dense<[-0.0, 0x7F800000, 1.5]> : tensor<3xf32>
  check.expect_eq %x, %y : tensor<3xf32>
  %i = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  check.expect_eq_const %i, dense<18446744073709551615> : tensor<ui64>
  func.return
}

func.func @expect_almost_eq() {
  %x = stablehlo.constant dense<[1.0, 0x7FF8000000000000, 0xFFF0000000000000]> : tensor<3xf64>
  %y = stablehlo.constant dense<[1.0001, 0x7FF8000000000001, 0xFFF0000000000000]> : tensor<3xf64>
  check.expect_almost_eq %x, %y, tolerance = 0.001 : tensor<3xf64>
  check.expect_almost_eq_const %x, dense<[1.00009, 0x7FF8000000000000, 0xFFF0000000000000]> : tensor<3xf64>
  func.return
}

func.func @expect_close() {
  %x = stablehlo.constant dense<[0x3F800000, 0x00000001, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0x3F800002, 0x80000001, 0xFFC00000]> : tensor<3xf32>
  check.expect_close %x, %y, max_ulp_difference = 2 : tensor<3xf32>, tensor<3xf32>
  %a = stablehlo.constant dense<(1.0, 0x3F800003)> : tensor<complex<f32>>
  %b = stablehlo.constant dense<(1.0, 1.0)> : tensor<complex<f32>>
  check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 3 : tensor<complex<f32>>, tensor<complex<f32>>
  func.return
}
