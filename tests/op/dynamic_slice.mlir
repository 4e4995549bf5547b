// dynamic_slice: a slice of static size at run-time indices, clamped so that it lies within the operand.

func.func @inside() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %r = stablehlo.dynamic_slice %x, %one, %zero, sizes = [2, 2]
    : (tensor<3x3xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[4, 5], [7, 8]]> : tensor<2x2xi32>
  func.return
}

func.func @clamped_both_ways() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf64>
  %below = stablehlo.constant dense<-5> : tensor<i32>
  %above = stablehlo.constant dense<100> : tensor<i32>
  %r = stablehlo.dynamic_slice %x, %below, %above, sizes = [1, 2]
    : (tensor<3x3xf64>, tensor<i32>, tensor<i32>) -> tensor<1x2xf64>
  check.expect_eq_const %r, dense<[[2.0, 3.0]]> : tensor<1x2xf64>
  func.return
}

// An index of 200 is large in ui8, not -56; the largest ui64 is large, not -1.
func.func @unsigned_indices() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %i8 = stablehlo.constant dense<200> : tensor<ui8>
  %r8 = stablehlo.dynamic_slice %x, %i8, sizes = [1] : (tensor<4xi8>, tensor<ui8>) -> tensor<1xi8>
  check.expect_eq_const %r8, dense<[4]> : tensor<1xi8>
  %i64 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %r64 = stablehlo.dynamic_slice %x, %i64, sizes = [3] : (tensor<4xi8>, tensor<ui64>) -> tensor<3xi8>
  check.expect_eq_const %r64, dense<[2, 3, 4]> : tensor<3xi8>
  func.return
}

func.func @extreme_indices() {
  %x = stablehlo.constant dense<[1, 2, 3, 0]> : tensor<4xui2>
  %least = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %most = stablehlo.constant dense<9223372036854775807> : tensor<i64>
  %first = stablehlo.dynamic_slice %x, %least, sizes = [2] : (tensor<4xui2>, tensor<i64>) -> tensor<2xui2>
  check.expect_eq_const %first, dense<[1, 2]> : tensor<2xui2>
  %last = stablehlo.dynamic_slice %x, %most, sizes = [2] : (tensor<4xui2>, tensor<i64>) -> tensor<2xui2>
  check.expect_eq_const %last, dense<[3, 0]> : tensor<2xui2>
  func.return
}

func.func @nothing_and_everything() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %i = stablehlo.constant dense<1> : tensor<i16>
  %none = stablehlo.dynamic_slice %x, %i, sizes = [0] : (tensor<2xcomplex<f64>>, tensor<i16>) -> tensor<0xcomplex<f64>>
  check.expect_eq_const %none, dense<> : tensor<0xcomplex<f64>>
  %all = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<2xcomplex<f64>>, tensor<i16>) -> tensor<2xcomplex<f64>>
  check.expect_eq_const %all, dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<true> : tensor<i1>
  %r = "stablehlo.dynamic_slice"(%x) {slice_sizes = array<i64>} : (tensor<i1>) -> tensor<i1>
  check.expect_eq_const %r, dense<true> : tensor<i1>
  func.return
}
