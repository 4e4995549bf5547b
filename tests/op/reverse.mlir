// reverse: elements in the opposite order along some dimensions.

func.func @one_or_both_dimensions() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %rows = stablehlo.reverse %x, dims = [0] : tensor<2x3xi32>
  check.expect_eq_const %rows, dense<[[4, 5, 6], [1, 2, 3]]> : tensor<2x3xi32>
  %columns = stablehlo.reverse %x, dims = [1] : tensor<2x3xi32>
  check.expect_eq_const %columns, dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi32>
  %both = stablehlo.reverse %x, dims = [1, 0] : tensor<2x3xi32>
  check.expect_eq_const %both, dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi32>
  func.return
}

func.func @no_dimensions() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %r = stablehlo.reverse %x, dims = [] : tensor<2xf16>
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf16>
  func.return
}

func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %r = stablehlo.reverse %x, dims = [0] : tensor<2xcomplex<f64>>
  check.expect_eq_const %r, dense<[(3.0, 4.0), (1.0, 2.0)]> : tensor<2xcomplex<f64>>
  func.return
}

func.func @bytes_and_less() {
  %x = stablehlo.constant dense<[-8, 0, 7]> : tensor<3xi4>
  %r = stablehlo.reverse %x, dims = [0] : tensor<3xi4>
  check.expect_eq_const %r, dense<[7, 0, -8]> : tensor<3xi4>
  %b = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %s = stablehlo.reverse %b, dims = [0] : tensor<3xi1>
  check.expect_eq_const %s, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

func.func @nothing() {
  %x = stablehlo.constant dense<> : tensor<0x2xi64>
  %r = stablehlo.reverse %x, dims = [0, 1] : tensor<0x2xi64>
  check.expect_eq_const %r, dense<> : tensor<0x2xi64>
  func.return
}

// -----

func.func @dimension_out_of_range() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  // expected-error@+1 {{[reverse_c3]}}
  %r = stablehlo.reverse %x, dims = [1] : tensor<3xi32>
  func.return
}
