// Integers: all of these are %x or a constant.
func.func @main() {
  %x = stablehlo.constant dense<[5, -7]> : tensor<2xi32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %ones = stablehlo.constant dense<-1> : tensor<2xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<2xi32>
  %most = stablehlo.constant dense<2147483647> : tensor<2xi32>
  %0 = stablehlo.add %zero, %x : tensor<2xi32>
  %1 = stablehlo.subtract %0, %zero : tensor<2xi32>
  %2 = stablehlo.multiply %one, %1 : tensor<2xi32>
  %3 = stablehlo.divide %2, %one : tensor<2xi32>
  %4 = stablehlo.negate %3 : tensor<2xi32>
  %5 = stablehlo.negate %4 : tensor<2xi32>
  %6 = stablehlo.not %5 : tensor<2xi32>
  %7 = stablehlo.not %6 : tensor<2xi32>
  %8 = stablehlo.and %7, %ones : tensor<2xi32>
  %9 = stablehlo.or %8, %zero : tensor<2xi32>
  %10 = stablehlo.xor %9, %zero : tensor<2xi32>
  %11 = stablehlo.and %10, %10 : tensor<2xi32>
  %12 = stablehlo.or %11, %11 : tensor<2xi32>
  %13 = stablehlo.maximum %12, %12 : tensor<2xi32>
  %14 = stablehlo.minimum %13, %13 : tensor<2xi32>
  %15 = stablehlo.maximum %14, %least : tensor<2xi32>
  %16 = stablehlo.minimum %most, %15 : tensor<2xi32>
  %17 = stablehlo.shift_left %16, %zero : tensor<2xi32>
  %18 = stablehlo.shift_right_arithmetic %17, %zero : tensor<2xi32>
  %19 = stablehlo.shift_right_logical %18, %zero : tensor<2xi32>
  %20 = stablehlo.power %19, %one : tensor<2xi32>
  check.expect_eq_const %20, dense<[5, -7]> : tensor<2xi32>
  %21 = stablehlo.subtract %x, %x : tensor<2xi32>
  %22 = stablehlo.multiply %zero, %x : tensor<2xi32>
  %23 = stablehlo.xor %x, %x : tensor<2xi32>
  %24 = stablehlo.and %x, %zero : tensor<2xi32>
  check.expect_eq_const %21, dense<0> : tensor<2xi32>
  check.expect_eq_const %22, dense<0> : tensor<2xi32>
  check.expect_eq_const %23, dense<0> : tensor<2xi32>
  check.expect_eq_const %24, dense<0> : tensor<2xi32>
  %25 = stablehlo.or %x, %ones : tensor<2xi32>
  check.expect_eq_const %25, dense<-1> : tensor<2xi32>
  %26 = stablehlo.compare LE, %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %27 = stablehlo.compare NE, %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  check.expect_eq_const %26, dense<true> : tensor<2xi1>
  check.expect_eq_const %27, dense<false> : tensor<2xi1>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[5, -7]> : tensor<2xi32>
    %1 = stablehlo.constant dense<0> : tensor<2xi32>
    %2 = stablehlo.constant dense<1> : tensor<2xi32>
    %3 = stablehlo.constant dense<-1> : tensor<2xi32>
    %4 = stablehlo.constant dense<-2147483648> : tensor<2xi32>
    %5 = stablehlo.constant dense<2147483647> : tensor<2xi32>
    %6 = stablehlo.negate %0 : tensor<2xi32>
    %7 = stablehlo.not %0 : tensor<2xi32>
    check.expect_eq_const %0, dense<[5, -7]> : tensor<2xi32>
    %8 = stablehlo.constant dense<0> : tensor<2xi32>
    %9 = stablehlo.constant dense<0> : tensor<2xi32>
    check.expect_eq_const %8, dense<0> : tensor<2xi32>
    check.expect_eq_const %1, dense<0> : tensor<2xi32>
    check.expect_eq_const %9, dense<0> : tensor<2xi32>
    check.expect_eq_const %1, dense<0> : tensor<2xi32>
    check.expect_eq_const %3, dense<-1> : tensor<2xi32>
    %10 = stablehlo.constant dense<true> : tensor<2xi1>
    %11 = stablehlo.constant dense<false> : tensor<2xi1>
    check.expect_eq_const %10, dense<true> : tensor<2xi1>
    check.expect_eq_const %11, dense<false> : tensor<2xi1>
    return
  }
}
// -----
// Floats: what holds for NaN, infinities and both zeros.
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0x7F800000, 0x7FC00000, 3.0]> : tensor<4xf32>
  %minus_zero = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
  %most = stablehlo.constant dense<0x7F800000> : tensor<4xf32>
  %four = stablehlo.constant dense<4.0> : tensor<4xf32>
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %minus_zero : tensor<4xf32>
  %1 = stablehlo.subtract %0, %zero : tensor<4xf32>
  %2 = stablehlo.multiply %1, %one : tensor<4xf32>
  %3 = stablehlo.divide %2, %one : tensor<4xf32>
  %4 = stablehlo.maximum %3, %least : tensor<4xf32>
  %5 = stablehlo.minimum %4, %most : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %5 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[-2147483648, 2139095040, 2143289344, 1077936128]> : tensor<4xi32>
  %6 = stablehlo.negate %x : tensor<4xf32>
  %7 = stablehlo.add %6, %three : tensor<4xf32>
  %8 = stablehlo.subtract %7, %6 : tensor<4xf32>
  %9 = stablehlo.abs %6 : tensor<4xf32>
  %10 = stablehlo.abs %9 : tensor<4xf32>
  %11 = stablehlo.multiply %6, %6 : tensor<4xf32>
  %12 = stablehlo.divide %x, %four : tensor<4xf32>
  check.expect_almost_eq_const %8, dense<[3.0, 0x7FC00000, 0x7FC00000, 3.0]> : tensor<4xf32>
  check.expect_almost_eq_const %10, dense<[0.0, 0x7F800000, 0x7FC00000, 3.0]> : tensor<4xf32>
  check.expect_almost_eq_const %11, dense<[0.0, 0x7F800000, 0x7FC00000, 9.0]> : tensor<4xf32>
  check.expect_almost_eq_const %12, dense<[-0.0, 0x7F800000, 0x7FC00000, 0.75]> : tensor<4xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[-0.000000e+00, 0x7F800000, 0x7FC00000, 3.000000e+00]> : tensor<4xf32>
    %1 = stablehlo.constant dense<-0.000000e+00> : tensor<4xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %3 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %4 = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
    %5 = stablehlo.constant dense<0x7F800000> : tensor<4xf32>
    %6 = stablehlo.constant dense<4.000000e+00> : tensor<4xf32>
    %7 = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
    %8 = stablehlo.bitcast_convert %0 : (tensor<4xf32>) -> tensor<4xi32>
    check.expect_eq_const %8, dense<[-2147483648, 2139095040, 2143289344, 1077936128]> : tensor<4xi32>
    %9 = stablehlo.negate %0 : tensor<4xf32>
    %10 = stablehlo.subtract %7, %0 : tensor<4xf32>
    %11 = stablehlo.add %10, %0 : tensor<4xf32>
    %12 = stablehlo.abs %0 : tensor<4xf32>
    %13 = stablehlo.multiply %0, %0 : tensor<4xf32>
    %14 = stablehlo.constant dense<2.500000e-01> : tensor<4xf32>
    %15 = stablehlo.multiply %0, %14 : tensor<4xf32>
    check.expect_almost_eq_const %11, dense<[3.000000e+00, 0x7FC00000, 0x7FC00000, 3.000000e+00]> : tensor<4xf32>
    check.expect_almost_eq_const %12, dense<[0.000000e+00, 0x7F800000, 0x7FC00000, 3.000000e+00]> : tensor<4xf32>
    check.expect_almost_eq_const %13, dense<[0.000000e+00, 0x7F800000, 0x7FC00000, 9.000000e+00]> : tensor<4xf32>
    check.expect_almost_eq_const %15, dense<[-0.000000e+00, 0x7F800000, 0x7FC00000, 7.500000e-01]> : tensor<4xf32>
    return
  }
}
// -----
// What does not hold for floats stays: -0 + 0, x * 0, x - x, x == x; x / 3, whose reciprocal is rounded.
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0x7F800000, 0x7FC00000, 3.0]> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %zero : tensor<4xf32>
  %1 = stablehlo.multiply %x, %zero : tensor<4xf32>
  %2 = stablehlo.subtract %x, %x : tensor<4xf32>
  %3 = stablehlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %4 = stablehlo.divide %x, %three : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %0 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[0, 2139095040, 2143289344, 1077936128]> : tensor<4xi32>
  check.expect_almost_eq_const %1, dense<[-0.0, 0x7FC00000, 0x7FC00000, 0.0]> : tensor<4xf32>
  check.expect_almost_eq_const %2, dense<[0.0, 0x7FC00000, 0x7FC00000, 0.0]> : tensor<4xf32>
  check.expect_eq_const %3, dense<[true, true, false, true]> : tensor<4xi1>
  check.expect_almost_eq_const %4, dense<[-0.0, 0x7F800000, 0x7FC00000, 1.0]> : tensor<4xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[-0.000000e+00, 0x7F800000, 0x7FC00000, 3.000000e+00]> : tensor<4xf32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %2 = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
    %3 = stablehlo.add %0, %1 : tensor<4xf32>
    %4 = stablehlo.multiply %0, %1 : tensor<4xf32>
    %5 = stablehlo.subtract %0, %0 : tensor<4xf32>
    %6 = stablehlo.compare EQ, %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %7 = stablehlo.divide %0, %2 : tensor<4xf32>
    %8 = stablehlo.bitcast_convert %3 : (tensor<4xf32>) -> tensor<4xi32>
    check.expect_eq_const %8, dense<[0, 2139095040, 2143289344, 1077936128]> : tensor<4xi32>
    check.expect_almost_eq_const %4, dense<[-0.000000e+00, 0x7FC00000, 0x7FC00000, 0.000000e+00]> : tensor<4xf32>
    check.expect_almost_eq_const %5, dense<[0.000000e+00, 0x7FC00000, 0x7FC00000, 0.000000e+00]> : tensor<4xf32>
    check.expect_eq_const %6, dense<[true, true, false, true]> : tensor<4xi1>
    check.expect_almost_eq_const %7, dense<[-0.000000e+00, 0x7F800000, 0x7FC00000, 1.000000e+00]> : tensor<4xf32>
    return
  }
}
// -----
// RUN: --passes=simplify --floats=reassoc
// With leave to do so.
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %zero : tensor<4xf32>
  %1 = stablehlo.multiply %x, %zero : tensor<4xf32>
  %2 = stablehlo.subtract %x, %x : tensor<4xf32>
  %3 = stablehlo.power %x, %two : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %1 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %3 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
    return %arg0, %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// Conversions: back, on, and where something is lost between.
func.func @main() {
  %x = stablehlo.constant dense<[100, -100]> : tensor<2xi8>
  %h = stablehlo.constant dense<[1.5, 0x7C00]> : tensor<2xf16>
  %0 = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xi32>
  %1 = stablehlo.convert %0 : (tensor<2xi32>) -> tensor<2xi8>
  %2 = stablehlo.convert %0 : (tensor<2xi32>) -> tensor<2xi64>
  %3 = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xf32>
  %4 = stablehlo.convert %3 : (tensor<2xf32>) -> tensor<2xi8>
  %5 = stablehlo.convert %h : (tensor<2xf16>) -> tensor<2xf32>
  %6 = stablehlo.convert %5 : (tensor<2xf32>) -> tensor<2xbf16>
  %7 = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xi4>
  %8 = stablehlo.convert %7 : (tensor<2xi4>) -> tensor<2xi8>
  check.expect_eq_const %1, dense<[100, -100]> : tensor<2xi8>
  check.expect_eq_const %2, dense<[100, -100]> : tensor<2xi64>
  check.expect_eq_const %4, dense<[100, -100]> : tensor<2xi8>
  check.expect_eq_const %6, dense<[1.5, 0x7F80]> : tensor<2xbf16>
  check.expect_eq_const %8, dense<[4, -4]> : tensor<2xi8>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[100, -100]> : tensor<2xi8>
    %1 = stablehlo.constant dense<[1.500000e+00, 0x7C00]> : tensor<2xf16>
    %2 = stablehlo.convert %0 : (tensor<2xi8>) -> tensor<2xi32>
    %3 = stablehlo.convert %0 : (tensor<2xi8>) -> tensor<2xi64>
    %4 = stablehlo.convert %0 : (tensor<2xi8>) -> tensor<2xf32>
    %5 = stablehlo.convert %1 : (tensor<2xf16>) -> tensor<2xf32>
    %6 = stablehlo.convert %1 : (tensor<2xf16>) -> tensor<2xbf16>
    %7 = stablehlo.convert %0 : (tensor<2xi8>) -> tensor<2xi4>
    %8 = stablehlo.convert %7 : (tensor<2xi4>) -> tensor<2xi8>
    check.expect_eq_const %0, dense<[100, -100]> : tensor<2xi8>
    check.expect_eq_const %3, dense<[100, -100]> : tensor<2xi64>
    check.expect_eq_const %0, dense<[100, -100]> : tensor<2xi8>
    check.expect_eq_const %6, dense<[1.500000e+00, 0x7F80]> : tensor<2xbf16>
    check.expect_eq_const %8, dense<[4, -4]> : tensor<2xi8>
    return
  }
}
// -----
// Choices, complex numbers, tuples.
func.func @main() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = stablehlo.select %yes, %x, %y : tensor<i1>, tensor<2xf32>
  %1 = stablehlo.select %p, %0, %0 : tensor<2xi1>, tensor<2xf32>
  %q = stablehlo.not %p : tensor<2xi1>
  %2 = stablehlo.select %q, %1, %y : tensor<2xi1>, tensor<2xf32>
  %3 = stablehlo.complex %1, %y : tensor<2xcomplex<f32>>
  %4 = stablehlo.real %3 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %5 = stablehlo.imag %3 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %6 = stablehlo.complex %4, %5 : tensor<2xcomplex<f32>>
  %7 = stablehlo.tuple %2, %6 : tuple<tensor<2xf32>, tensor<2xcomplex<f32>>>
  %8 = stablehlo.get_tuple_element %7[0] : (tuple<tensor<2xf32>, tensor<2xcomplex<f32>>>) -> tensor<2xf32>
  %9 = stablehlo.get_tuple_element %7[1] : (tuple<tensor<2xf32>, tensor<2xcomplex<f32>>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %8, dense<[3.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %9, dense<[(1.0, 3.0), (2.0, 4.0)]> : tensor<2xcomplex<f32>>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %3 = stablehlo.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
    %4 = stablehlo.not %0 : tensor<2xi1>
    %5 = stablehlo.select %0, %3, %2 : tensor<2xi1>, tensor<2xf32>
    %6 = stablehlo.complex %2, %3 : tensor<2xcomplex<f32>>
    %7 = stablehlo.complex %2, %3 : tensor<2xcomplex<f32>>
    %8 = stablehlo.tuple %5, %7 : tuple<tensor<2xf32>, tensor<2xcomplex<f32>>>
    check.expect_eq_const %5, dense<[3.000000e+00, 2.000000e+00]> : tensor<2xf32>
    check.expect_eq_const %7, dense<[(1.000000e+00,3.000000e+00), (2.000000e+00,4.000000e+00)]> : tensor<2xcomplex<f32>>
    return
  }
}
// -----
// Reshape, transpose, broadcast.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<6xi32>
  %1 = stablehlo.reshape %0 : (tensor<6xi32>) -> tensor<2x3xi32>
  %2 = stablehlo.reshape %0 : (tensor<6xi32>) -> tensor<3x2xi32>
  %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 2] : (tensor<2x3xi32>) -> tensor<2x1x3xi32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [1, 2, 3] : (tensor<2x1x3xi32>) -> tensor<2x2x2x3xi32>
  check.expect_eq_const %2, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  check.expect_eq_const %5, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %7, dense<[[[[1, 2, 3], [1, 2, 3]], [[4, 5, 6], [4, 5, 6]]], [[[1, 2, 3], [1, 2, 3]], [[4, 5, 6], [4, 5, 6]]]]> : tensor<2x2x2x3xi32>
  %s = stablehlo.constant dense<7> : tensor<i32>
  %8 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<1x4xi32>
  %9 = stablehlo.reshape %8 : (tensor<1x4xi32>) -> tensor<4xi32>
  %10 = stablehlo.iota dim = 0 : tensor<1x2xi32>
  check.expect_eq_const %9, dense<7> : tensor<4xi32>
  check.expect_eq_const %10, dense<0> : tensor<1x2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %1 = stablehlo.reshape %0 : (tensor<2x3xi32>) -> tensor<6xi32>
    %2 = stablehlo.reshape %0 : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %3 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %4 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<2x3xi32>) -> tensor<2x1x3xi32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [1, 3] : (tensor<2x3xi32>) -> tensor<2x2x2x3xi32>
    check.expect_eq_const %2, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
    check.expect_eq_const %0, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    check.expect_eq_const %5, dense<[[[[1, 2, 3], [1, 2, 3]], [[4, 5, 6], [4, 5, 6]]], [[[1, 2, 3], [1, 2, 3]], [[4, 5, 6], [4, 5, 6]]]]> : tensor<2x2x2x3xi32>
    %6 = stablehlo.constant dense<7> : tensor<i32>
    %7 = stablehlo.constant dense<7> : tensor<1x4xi32>
    %8 = stablehlo.constant dense<7> : tensor<4xi32>
    %9 = stablehlo.constant dense<0> : tensor<1x2xi32>
    check.expect_eq_const %8, dense<7> : tensor<4xi32>
    check.expect_eq_const %9, dense<0> : tensor<1x2xi32>
    return
  }
}
// -----
// Slices, of slices and of concatenations; indices that are constant, one of them too large.
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<10xi32>
  %y = stablehlo.constant dense<[20, 21, 22]> : tensor<3xi32>
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %i = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.slice %x [0:10] : (tensor<10xi32>) -> tensor<10xi32>
  %1 = stablehlo.slice %0 [1:10:2] : (tensor<10xi32>) -> tensor<5xi32>
  %2 = stablehlo.slice %1 [1:4:2] : (tensor<5xi32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[3, 7]> : tensor<2xi32>
  %3 = stablehlo.concatenate %0, dim = 0 : (tensor<10xi32>) -> tensor<10xi32>
  %4 = stablehlo.concatenate %3, %none, %y, dim = 0 : (tensor<10xi32>, tensor<0xi32>, tensor<3xi32>) -> tensor<13xi32>
  %5 = stablehlo.concatenate %4, %y, dim = 0 : (tensor<13xi32>, tensor<3xi32>) -> tensor<16xi32>
  %6 = stablehlo.slice %5 [11:13] : (tensor<16xi32>) -> tensor<2xi32>
  %7 = stablehlo.slice %5 [9:12] : (tensor<16xi32>) -> tensor<3xi32>
  check.expect_eq_const %6, dense<[21, 22]> : tensor<2xi32>
  check.expect_eq_const %7, dense<[9, 20, 21]> : tensor<3xi32>
  %8 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<10xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %8, dense<[6, 7, 8, 9]> : tensor<4xi32>
  %9 = stablehlo.dynamic_slice %y, %i, sizes = [3] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %10 = stablehlo.dynamic_update_slice %1, %y, %i : (tensor<5xi32>, tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %11 = stablehlo.dynamic_update_slice %10, %1, %i : (tensor<5xi32>, tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %9, dense<[20, 21, 22]> : tensor<3xi32>
  check.expect_eq_const %11, dense<[1, 3, 5, 7, 9]> : tensor<5xi32>
  %12 = stablehlo.pad %y, %i, low = [0], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %13 = stablehlo.reverse %12, dims = [0] : tensor<3xi32>
  %14 = stablehlo.reverse %13, dims = [0] : tensor<3xi32>
  check.expect_eq_const %14, dense<[20, 21, 22]> : tensor<3xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<10xi32>
    %1 = stablehlo.constant dense<[20, 21, 22]> : tensor<3xi32>
    %2 = stablehlo.constant dense<> : tensor<0xi32>
    %3 = stablehlo.constant dense<9> : tensor<i32>
    %4 = stablehlo.slice %0 [1:10:2] : (tensor<10xi32>) -> tensor<5xi32>
    %5 = stablehlo.slice %0 [3:8:4] : (tensor<10xi32>) -> tensor<2xi32>
    check.expect_eq_const %5, dense<[3, 7]> : tensor<2xi32>
    %6 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<10xi32>, tensor<3xi32>) -> tensor<13xi32>
    %7 = stablehlo.concatenate %0, %1, %1, dim = 0 : (tensor<10xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<16xi32>
    %8 = stablehlo.slice %1 [1:3] : (tensor<3xi32>) -> tensor<2xi32>
    %9 = stablehlo.slice %7 [9:12] : (tensor<16xi32>) -> tensor<3xi32>
    check.expect_eq_const %8, dense<[21, 22]> : tensor<2xi32>
    check.expect_eq_const %9, dense<[9, 20, 21]> : tensor<3xi32>
    %10 = stablehlo.slice %0 [6:10] : (tensor<10xi32>) -> tensor<4xi32>
    check.expect_eq_const %10, dense<[6, 7, 8, 9]> : tensor<4xi32>
    %11 = stablehlo.dynamic_update_slice %4, %1, %3 : (tensor<5xi32>, tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
    check.expect_eq_const %1, dense<[20, 21, 22]> : tensor<3xi32>
    check.expect_eq_const %4, dense<[1, 3, 5, 7, 9]> : tensor<5xi32>
    %12 = stablehlo.reverse %1, dims = [0] : tensor<3xi32>
    check.expect_eq_const %1, dense<[20, 21, 22]> : tensor<3xi32>
    return
  }
}
// -----
// Branches that are known, a loop that does not begin.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %far = stablehlo.constant dense<7> : tensor<i32>
  %0 = "stablehlo.if"(%no) ({
    stablehlo.return %x : tensor<2xi32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<2xi32>
    stablehlo.return %1 : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  %2 = "stablehlo.case"(%far) ({
    stablehlo.return %x : tensor<2xi32>
  }, {
    %3 = stablehlo.multiply %0, %0 : tensor<2xi32>
    stablehlo.return %3 : tensor<2xi32>
  }) : (tensor<i32>) -> tensor<2xi32>
  %4 = stablehlo.while(%i = %2) : tensor<2xi32>
  cond {
    stablehlo.return %no : tensor<i1>
  } do {
    %5 = stablehlo.add %i, %i : tensor<2xi32>
    stablehlo.return %5 : tensor<2xi32>
  }
  check.expect_eq_const %4, dense<[4, 16]> : tensor<2xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<false> : tensor<i1>
    %2 = stablehlo.constant dense<7> : tensor<i32>
    %3 = stablehlo.add %0, %0 : tensor<2xi32>
    %4 = stablehlo.multiply %3, %3 : tensor<2xi32>
    check.expect_eq_const %4, dense<[4, 16]> : tensor<2xi32>
    return
  }
}
// -----
// Loops of no iteration, or one: up, down, by steps, to another number; the others stay, one that would wrap around too.
func.func @f(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<250> : tensor<ui8>
  %0:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<2xi32>
    cond {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %c : tensor<i32>
      %2 = stablehlo.add %y, %y : tensor<2xi32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<2xi32>
    }
  %3:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<2xi32>
    cond {
      %c = stablehlo.constant dense<-2> : tensor<i32>
      %1 = stablehlo.compare LT, %c, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<2> : tensor<i32>
      %1 = stablehlo.subtract %i, %c : tensor<i32>
      %2 = stablehlo.multiply %y, %y : tensor<2xi32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<2xi32>
    }
  %4:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<2xi32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare NE, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.add %c, %i : tensor<i32>
      %2 = stablehlo.negate %y : tensor<2xi32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<2xi32>
    }
  %5:2 = stablehlo.while(%i = %n, %y = %x) : tensor<ui8>, tensor<2xi32>
    cond {
      %c = stablehlo.constant dense<255> : tensor<ui8>
      %1 = stablehlo.compare LT, %i, %c : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<6> : tensor<ui8>
      %1 = stablehlo.add %i, %c : tensor<ui8>
      %2 = stablehlo.abs %y : tensor<2xi32>
      stablehlo.return %1, %2 : tensor<ui8>, tensor<2xi32>
    }
  return %0#1, %3#1, %4#1, %5#1 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<250> : tensor<ui8>
    %2 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.subtract %0, %2 : tensor<i32>
    %4 = stablehlo.multiply %arg0, %arg0 : tensor<2xi32>
    %5 = stablehlo.constant dense<3> : tensor<i32>
    %6 = stablehlo.negate %arg0 : tensor<2xi32>
    %7:2 = stablehlo.while(%arg1 = %1, %arg2 = %arg0) : tensor<ui8>, tensor<2xi32>
    cond {
      %8 = stablehlo.constant dense<255> : tensor<ui8>
      %9 = stablehlo.compare LT, %arg1, %8 : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %10 = stablehlo.constant dense<6> : tensor<ui8>
      %11 = stablehlo.add %arg1, %10 : tensor<ui8>
      %12 = stablehlo.abs %arg2 : tensor<2xi32>
      stablehlo.return %11, %12 : tensor<ui8>, tensor<2xi32>
    }
    return %arg0, %4, %6, %7#1 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
}
// -----
// Powers by constants that have a function of their own; those whose values differ somewhere stay.
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 3.0, 4.0, -0.125]> : tensor<4xf32>
  %y = stablehlo.optimization_barrier %x : tensor<4xf32>
  %c0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %c1 = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %c2 = stablehlo.constant dense<2.0> : tensor<4xf32>
  %c3 = stablehlo.constant dense<3.0> : tensor<4xf32>
  %ch = stablehlo.constant dense<0.5> : tensor<4xf32>
  %0 = stablehlo.power %y, %c0 : tensor<4xf32>
  %1 = stablehlo.power %y, %c1 : tensor<4xf32>
  %2 = stablehlo.power %y, %c2 : tensor<4xf32>
  %3 = stablehlo.power %y, %c3 : tensor<4xf32>
  %4 = stablehlo.power %y, %ch : tensor<4xf32>
  check.expect_eq_const %0, dense<1.0> : tensor<4xf32>
  check.expect_eq_const %1, dense<[0xFF800000, 0.333333343, 0.25, -8.0]> : tensor<4xf32>
  check.expect_eq_const %2, dense<[0.0, 9.0, 16.0, 0.015625]> : tensor<4xf32>
  check.expect_eq_const %3, dense<[-0.0, 27.0, 64.0, -0.001953125]> : tensor<4xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[-0.000000e+00, 3.000000e+00, 4.000000e+00, -1.250000e-01]> : tensor<4xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<4xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %3 = stablehlo.constant dense<-1.000000e+00> : tensor<4xf32>
    %4 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
    %5 = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
    %6 = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
    %7 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %8 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %9 = stablehlo.divide %8, %1 : tensor<4xf32>
    %10 = stablehlo.multiply %1, %1 : tensor<4xf32>
    %11 = stablehlo.power %1, %5 : tensor<4xf32>
    %12 = stablehlo.power %1, %6 : tensor<4xf32>
    check.expect_eq_const %7, dense<1.000000e+00> : tensor<4xf32>
    check.expect_eq_const %9, dense<[0xFF800000, 0.333333343, 2.500000e-01, -8.000000e+00]> : tensor<4xf32>
    check.expect_eq_const %10, dense<[0.000000e+00, 9.000000e+00, 1.600000e+01, 1.562500e-02]> : tensor<4xf32>
    check.expect_eq_const %11, dense<[-0.000000e+00, 2.700000e+01, 6.400000e+01, -0.001953125]> : tensor<4xf32>
    return
  }
}
// -----
// RUN: --passes=simplify --floats=reassoc
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c3 = stablehlo.constant dense<3.0> : tensor<4xf32>
  %ch = stablehlo.constant dense<0.5> : tensor<4xf32>
  %cm = stablehlo.constant dense<-0.5> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.power %x, %c3 : tensor<4xf32>
  %1 = stablehlo.power %x, %ch : tensor<4xf32>
  %2 = stablehlo.power %x, %cm : tensor<4xf32>
  %3 = stablehlo.exponential %x : tensor<4xf32>
  %4 = stablehlo.log %3 : tensor<4xf32>
  %5 = stablehlo.subtract %3, %one : tensor<4xf32>
  %6 = stablehlo.add %one, %y : tensor<4xf32>
  %7 = stablehlo.log %6 : tensor<4xf32>
  %8 = stablehlo.sqrt %y : tensor<4xf32>
  %9 = stablehlo.divide %x, %8 : tensor<4xf32>
  %10 = stablehlo.negate %x : tensor<4xf32>
  %11 = stablehlo.exponential %10 : tensor<4xf32>
  %12 = stablehlo.add %one, %11 : tensor<4xf32>
  %13 = stablehlo.divide %one, %12 : tensor<4xf32>
  %14 = stablehlo.divide %x, %c3 : tensor<4xf32>
  return %0, %1, %2, %4, %5, %7, %9, %13 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<3.000000e+00> : tensor<4xf32>
    %1 = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
    %2 = stablehlo.constant dense<-5.000000e-01> : tensor<4xf32>
    %3 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %4 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<4xf32>
    %6 = stablehlo.sqrt %arg0 : tensor<4xf32>
    %7 = stablehlo.rsqrt %arg0 : tensor<4xf32>
    %8 = stablehlo.exponential %arg0 : tensor<4xf32>
    %9 = stablehlo.exponential_minus_one %arg0 : tensor<4xf32>
    %10 = stablehlo.add %3, %arg1 : tensor<4xf32>
    %11 = stablehlo.log_plus_one %arg1 : tensor<4xf32>
    %12 = stablehlo.sqrt %arg1 : tensor<4xf32>
    %13 = stablehlo.rsqrt %arg1 : tensor<4xf32>
    %14 = stablehlo.multiply %arg0, %13 : tensor<4xf32>
    %15 = stablehlo.negate %arg0 : tensor<4xf32>
    %16 = stablehlo.exponential %15 : tensor<4xf32>
    %17 = stablehlo.add %3, %16 : tensor<4xf32>
    %18 = stablehlo.logistic %arg0 : tensor<4xf32>
    %19 = stablehlo.constant dense<0.333333343> : tensor<4xf32>
    %20 = stablehlo.multiply %arg0, %19 : tensor<4xf32>
    return %5, %6, %7, %arg0, %9, %11, %14, %18 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// Broadcasts: of what reshape made, reshaped, transposed, sliced.
func.func @main() {
  %x = stablehlo.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
  %y = stablehlo.optimization_barrier %x : tensor<3x1xi32>
  %s = stablehlo.slice %y [0:1, 0:1] : (tensor<3x1xi32>) -> tensor<1x1xi32>
  %0 = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x4xi32>
  %1 = stablehlo.slice %0 [1:3, 1:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  %3 = stablehlo.reshape %y : (tensor<3x1xi32>) -> tensor<3x1x1xi32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 3] : (tensor<3x1x1xi32>) -> tensor<3x2x1x2xi32>
  %5 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<2x3xi32>
  %6 = stablehlo.reshape %5 : (tensor<2x3xi32>) -> tensor<6xi32>
  check.expect_eq_const %1, dense<[[2, 2], [3, 3]]> : tensor<2x2xi32>
  check.expect_eq_const %2, dense<[[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]> : tensor<4x3xi32>
  check.expect_eq_const %4, dense<[[[[1, 1]], [[1, 1]]], [[[2, 2]], [[2, 2]]], [[[3, 3]], [[3, 3]]]]> : tensor<3x2x1x2xi32>
  check.expect_eq_const %6, dense<1> : tensor<6xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
    %1 = stablehlo.optimization_barrier %0 : tensor<3x1xi32>
    %2 = stablehlo.slice %1 [0:1, 0:1] : (tensor<3x1xi32>) -> tensor<1x1xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x4xi32>
    %4 = stablehlo.slice %1 [1:3, 0:1] : (tensor<3x1xi32>) -> tensor<2x1xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x1xi32>) -> tensor<2x2xi32>
    %6 = stablehlo.broadcast_in_dim %1, dims = [1, 0] : (tensor<3x1xi32>) -> tensor<4x3xi32>
    %7 = stablehlo.reshape %1 : (tensor<3x1xi32>) -> tensor<3x1x1xi32>
    %8 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x2x1x2xi32>
    %9 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<2x3xi32>
    %10 = stablehlo.reshape %2 : (tensor<1x1xi32>) -> tensor<i32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<6xi32>
    check.expect_eq_const %5, dense<[[2, 2], [3, 3]]> : tensor<2x2xi32>
    check.expect_eq_const %6, dense<[[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]> : tensor<4x3xi32>
    check.expect_eq_const %8, dense<[[[[1, 1]], [[1, 1]]], [[[2, 2]], [[2, 2]]], [[[3, 3]], [[3, 3]]]]> : tensor<3x2x1x2xi32>
    check.expect_eq_const %11, dense<1> : tensor<6xi32>
    return
  }
}
// -----
// Reductions along dimensions of size 1 combine with the initial value.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, -2.0]]]> : tensor<1x1x2xf32>
  %y = stablehlo.optimization_barrier %x : tensor<1x1x2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %2 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [2] : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<1x1xf32>
  check.expect_eq_const %0, dense<[1.0, -2.0]> : tensor<2xf32>
  check.expect_eq_const %1, dense<[[1.0, 0.0]]> : tensor<1x2xf32>
  check.expect_eq_const %2, dense<-1.0> : tensor<1x1xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[[1.000000e+00, -2.000000e+00]]]> : tensor<1x1x2xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<1x1x2xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %4 = stablehlo.reshape %1 : (tensor<1x1x2xf32>) -> tensor<2xf32>
    %5 = stablehlo.add %3, %4 : tensor<2xf32>
    %6 = stablehlo.constant dense<0.000000e+00> : tensor<1x2xf32>
    %7 = stablehlo.reshape %1 : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
    %8 = stablehlo.maximum %6, %7 : tensor<1x2xf32>
    %9 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [2] : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<1x1xf32>
    check.expect_eq_const %5, dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>
    check.expect_eq_const %8, dense<[[1.000000e+00, 0.000000e+00]]> : tensor<1x2xf32>
    check.expect_eq_const %9, dense<-1.000000e+00> : tensor<1x1xf32>
    return
  }
}
// -----
// Nothing needs what computes values without elements.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<4xf32>
  %y = stablehlo.sine %x : tensor<4xf32>
  %0:2 = "stablehlo.optimization_barrier"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = stablehlo.slice %0#0 [2:2] : (tensor<4xf32>) -> tensor<0xf32>
  %2 = stablehlo.cosine %1 : tensor<0xf32>
  %3 = stablehlo.reshape %2 : (tensor<0xf32>) -> tensor<0x3xf32>
  %zero = stablehlo.constant dense<1.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %4, dense<1.0> : tensor<3xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<4xf32>
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2:2 = stablehlo.optimization_barrier %1, %1 : tensor<4xf32>, tensor<4xf32>
    %3 = stablehlo.slice %2#0 [2:2] : (tensor<4xf32>) -> tensor<0xf32>
    %4 = stablehlo.constant dense<> : tensor<0xf32>
    %5 = stablehlo.cosine %4 : tensor<0xf32>
    %6 = stablehlo.constant dense<> : tensor<0xf32>
    %7 = stablehlo.reshape %6 : (tensor<0xf32>) -> tensor<0x3xf32>
    %8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.constant dense<> : tensor<0x3xf32>
    %10 = stablehlo.reduce(%9 init: %8) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
    check.expect_eq_const %10, dense<1.000000e+00> : tensor<3xf32>
    return
  }
}
