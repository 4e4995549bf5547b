// constant: dense literals of every form, as splats and element by element.

func.func @splats_and_lists() {
  %list = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %list, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %splat = stablehlo.constant dense<7> : tensor<2x2xui8>
  check.expect_eq_const %splat, dense<[[7, 7], [7, 7]]> : tensor<2x2xui8>
  %hex = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  check.expect_eq_const %hex, dense<[1.0, 2.0]> : tensor<2xf32>
  %empty = stablehlo.constant dense<> : tensor<0x3xf64>
  check.expect_eq_const %empty, dense<> : tensor<0x3xf64>
  %scalar = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f64>>
  check.expect_eq_const %scalar, dense<(1.0, -2.0)> : tensor<complex<f64>>
  func.return
}

func.func @small_elements() {
  %i2 = stablehlo.constant dense<[-2, -1, 0, 1]> : tensor<4xi2>
  check.expect_eq_const %i2, dense<[-2, -1, 0, 1]> : tensor<4xi2>
  %ui4 = stablehlo.constant dense<[0, 15]> : tensor<2xui4>
  check.expect_eq_const %ui4, dense<[0, 15]> : tensor<2xui4>
  %f8 = stablehlo.constant dense<[1.0, -0.5]> : tensor<2xf8E4M3FN>
  check.expect_eq_const %f8, dense<[1.0, -0.5]> : tensor<2xf8E4M3FN>
  func.return
}

// -----

func.func @from_the_file_section() {
  %x = stablehlo.constant dense_resource<weights> : tensor<2xi32>
  check.expect_eq_const %x, dense<[1, 2]> : tensor<2xi32>
  func.return
}

{-#
  dialect_resources: { builtin: { weights: "0x040000000100000002000000" } }
#-}
