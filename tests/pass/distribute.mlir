// Products of slices, forwards and backwards in time, with elementwise ops and transposes in between, are one before the loop.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<6xf32>
  %x3 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<6xf32>) -> tensor<6x2x48xf32>
  %y = stablehlo.optimization_barrier %x3 : tensor<6x2x48xf32>
  %w0 = stablehlo.iota dim = 1 : tensor<48x48xf32>
  %w = stablehlo.optimization_barrier %w0 : tensor<48x48xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %six = stablehlo.constant dense<6> : tensor<i32>
  %h = stablehlo.constant dense<0.0> : tensor<2x48xf32>
  %g = stablehlo.constant dense<0.0> : tensor<48x2xf32>
  %0:3 = stablehlo.while(%i = %z, %s = %h, %t = %g) : tensor<i32>, tensor<2x48xf32>, tensor<48x2xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %six : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %half = stablehlo.constant dense<0.5> : tensor<2x48xf32>
      %1 = stablehlo.dynamic_slice %y, %i, %z, %z, sizes = [1, 2, 48] : (tensor<6x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %4 = stablehlo.multiply %s, %half : tensor<2x48xf32>
      %5 = stablehlo.add %4, %3 : tensor<2x48xf32>
      %6 = stablehlo.subtract %five, %i : tensor<i32>
      %7 = stablehlo.dynamic_slice %y, %6, %z, %z, sizes = [1, 2, 48] : (tensor<6x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %8 = stablehlo.reshape %7 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %9 = stablehlo.negate %8 : tensor<2x48xf32>
      %c = stablehlo.constant dense<1.0> : tensor<2x48xf32>
      %10 = stablehlo.add %9, %c : tensor<2x48xf32>
      %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<2x48xf32>) -> tensor<48x2xf32>
      %12 = stablehlo.dot_general %w, %11, contracting_dims = [0] x [0] : (tensor<48x48xf32>, tensor<48x2xf32>) -> tensor<48x2xf32>
      %13 = stablehlo.maximum %t, %12 : tensor<48x2xf32>
      %14 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %14, %5, %13 : tensor<i32>, tensor<2x48xf32>, tensor<48x2xf32>
    }
  %e = stablehlo.iota dim = 1 : tensor<2x48xf32>
  %e1 = stablehlo.constant dense<387.0> : tensor<2x48xf32>
  %e2 = stablehlo.multiply %e, %e1 : tensor<2x48xf32>
  check.expect_eq %0#1, %e2 : tensor<2x48xf32>
  %e3 = stablehlo.iota dim = 0 : tensor<48x2xf32>
  %e4 = stablehlo.constant dense<48.0> : tensor<48x2xf32>
  %e5 = stablehlo.multiply %e3, %e4 : tensor<48x2xf32>
  check.expect_eq %0#2, %e5 : tensor<48x2xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<6xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<6xf32>) -> tensor<6x2x48xf32>
    %2 = stablehlo.optimization_barrier %1 : tensor<6x2x48xf32>
    %3 = stablehlo.iota dim = 1 : tensor<48x48xf32>
    %4 = stablehlo.optimization_barrier %3 : tensor<48x48xf32>
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.constant dense<1> : tensor<i32>
    %7 = stablehlo.constant dense<5> : tensor<i32>
    %8 = stablehlo.constant dense<6> : tensor<i32>
    %9 = stablehlo.constant dense<0.000000e+00> : tensor<2x48xf32>
    %10 = stablehlo.constant dense<0.000000e+00> : tensor<48x2xf32>
    %11 = stablehlo.dot_general %2, %4, contracting_dims = [2] x [0] : (tensor<6x2x48xf32>, tensor<48x48xf32>) -> tensor<6x2x48xf32>
    %12 = stablehlo.negate %2 : tensor<6x2x48xf32>
    %13 = stablehlo.constant dense<1.000000e+00> : tensor<2x48xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<2x48xf32>) -> tensor<6x2x48xf32>
    %15 = stablehlo.add %12, %14 : tensor<6x2x48xf32>
    %16 = stablehlo.transpose %15, dims = [0, 2, 1] : (tensor<6x2x48xf32>) -> tensor<6x48x2xf32>
    %17 = stablehlo.dot_general %4, %16, contracting_dims = [0] x [1] : (tensor<48x48xf32>, tensor<6x48x2xf32>) -> tensor<48x6x2xf32>
    %18:3 = stablehlo.while(%arg0 = %5, %arg1 = %9, %arg2 = %10) : tensor<i32>, tensor<2x48xf32>, tensor<48x2xf32>
    cond {
      %19 = stablehlo.compare LT, %arg0, %8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %19 : tensor<i1>
    } do {
      %20 = stablehlo.constant dense<5.000000e-01> : tensor<2x48xf32>
      %21 = stablehlo.dynamic_slice %2, %arg0, %5, %5, sizes = [1, 2, 48] : (tensor<6x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %22 = stablehlo.reshape %21 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %23 = stablehlo.constant dense<0> : tensor<i32>
      %24 = stablehlo.dynamic_slice %11, %arg0, %23, %23, sizes = [1, 2, 48] : (tensor<6x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %25 = stablehlo.reshape %24 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %26 = stablehlo.multiply %arg1, %20 : tensor<2x48xf32>
      %27 = stablehlo.add %26, %25 : tensor<2x48xf32>
      %28 = stablehlo.subtract %7, %arg0 : tensor<i32>
      %29 = stablehlo.dynamic_slice %2, %28, %5, %5, sizes = [1, 2, 48] : (tensor<6x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %30 = stablehlo.reshape %29 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %31 = stablehlo.negate %30 : tensor<2x48xf32>
      %32 = stablehlo.constant dense<1.000000e+00> : tensor<2x48xf32>
      %33 = stablehlo.add %31, %32 : tensor<2x48xf32>
      %34 = stablehlo.transpose %33, dims = [1, 0] : (tensor<2x48xf32>) -> tensor<48x2xf32>
      %35 = stablehlo.constant dense<0> : tensor<i32>
      %36 = stablehlo.dynamic_slice %17, %35, %28, %35, sizes = [48, 1, 2] : (tensor<48x6x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<48x1x2xf32>
      %37 = stablehlo.reshape %36 : (tensor<48x1x2xf32>) -> tensor<48x2xf32>
      %38 = stablehlo.maximum %arg2, %37 : tensor<48x2xf32>
      %39 = stablehlo.add %arg0, %6 : tensor<i32>
      stablehlo.return %39, %27, %38 : tensor<i32>, tensor<2x48xf32>, tensor<48x2xf32>
    }
    %40 = stablehlo.iota dim = 1 : tensor<2x48xf32>
    %41 = stablehlo.constant dense<3.870000e+02> : tensor<2x48xf32>
    %42 = stablehlo.multiply %40, %41 : tensor<2x48xf32>
    check.expect_eq %18#1, %42 : tensor<2x48xf32>
    %43 = stablehlo.iota dim = 0 : tensor<48x2xf32>
    %44 = stablehlo.constant dense<4.800000e+01> : tensor<48x2xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<48x2xf32>
    check.expect_eq %18#2, %45 : tensor<48x2xf32>
    return
  }
}
// -----
// Time is not the first dimension; the weights are a variable, as are the rows that the array is reshaped to.
func.func @main() {
  %x = stablehlo.iota dim = 1 : tensor<2x5x48xi32>
  %y = stablehlo.optimization_barrier %x : tensor<2x5x48xi32>
  %v0 = stablehlo.iota dim = 0 : tensor<5x2x48xi32>
  %v1 = stablehlo.optimization_barrier %v0 : tensor<5x2x48xi32>
  %w0 = stablehlo.iota dim = 0 : tensor<48x48xi32>
  %w1 = stablehlo.optimization_barrier %w0 : tensor<48x48xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %h = stablehlo.constant dense<0> : tensor<2x48xi32>
  %k = stablehlo.constant dense<0> : tensor<48xi32>
  %0:5 = stablehlo.while(%i = %z, %w = %w1, %s = %h, %v = %v1, %t = %k) : tensor<i32>, tensor<48x48xi32>, tensor<2x48xi32>, tensor<5x2x48xi32>, tensor<48xi32>
    cond {
      %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.dynamic_slice %y, %z, %i, %z, sizes = [2, 1, 48] : (tensor<2x5x48xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x48xi32>
      %2 = stablehlo.reshape %1 : (tensor<2x1x48xi32>) -> tensor<2x48xi32>
      %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<2x48xi32>, tensor<48x48xi32>) -> tensor<2x48xi32>
      %4 = stablehlo.maximum %s, %3 : tensor<2x48xi32>
      %5 = stablehlo.dynamic_slice %v, %i, %z, %z, sizes = [1, 2, 48] : (tensor<5x2x48xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xi32>
      %6 = stablehlo.reshape %5 : (tensor<1x2x48xi32>) -> tensor<96xi32>
      %7 = stablehlo.slice %6 [0:48] : (tensor<96xi32>) -> tensor<48xi32>
      %8 = stablehlo.reshape %w : (tensor<48x48xi32>) -> tensor<2304xi32>
      %9 = stablehlo.concatenate %8, %8, dim = 0 : (tensor<2304xi32>, tensor<2304xi32>) -> tensor<4608xi32>
      %10 = stablehlo.reshape %9 : (tensor<4608xi32>) -> tensor<96x48xi32>
      %11 = stablehlo.dot_general %6, %10, contracting_dims = [0] x [0] : (tensor<96xi32>, tensor<96x48xi32>) -> tensor<48xi32>
      %12 = stablehlo.subtract %11, %t : tensor<48xi32>
      %13 = stablehlo.subtract %12, %7 : tensor<48xi32>
      %14 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %14, %w, %4, %v, %13 : tensor<i32>, tensor<48x48xi32>, tensor<2x48xi32>, tensor<5x2x48xi32>, tensor<48xi32>
    }
  check.expect_eq_const %0#2, dense<4512> : tensor<2x48xi32>
  check.expect_eq_const %0#4, dense<4510> : tensor<48xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 1 : tensor<2x5x48xi32>
    %1 = stablehlo.optimization_barrier %0 : tensor<2x5x48xi32>
    %2 = stablehlo.iota dim = 0 : tensor<5x2x48xi32>
    %3 = stablehlo.optimization_barrier %2 : tensor<5x2x48xi32>
    %4 = stablehlo.iota dim = 0 : tensor<48x48xi32>
    %5 = stablehlo.optimization_barrier %4 : tensor<48x48xi32>
    %6 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.constant dense<5> : tensor<i32>
    %9 = stablehlo.constant dense<0> : tensor<2x48xi32>
    %10 = stablehlo.constant dense<0> : tensor<48xi32>
    %11 = stablehlo.dot_general %1, %5, contracting_dims = [2] x [0] : (tensor<2x5x48xi32>, tensor<48x48xi32>) -> tensor<2x5x48xi32>
    %12 = stablehlo.reshape %3 : (tensor<5x2x48xi32>) -> tensor<5x96xi32>
    %13 = stablehlo.reshape %5 : (tensor<48x48xi32>) -> tensor<2304xi32>
    %14 = stablehlo.concatenate %13, %13, dim = 0 : (tensor<2304xi32>, tensor<2304xi32>) -> tensor<4608xi32>
    %15 = stablehlo.reshape %14 : (tensor<4608xi32>) -> tensor<96x48xi32>
    %16 = stablehlo.dot_general %12, %15, contracting_dims = [1] x [0] : (tensor<5x96xi32>, tensor<96x48xi32>) -> tensor<5x48xi32>
    %17:5 = stablehlo.while(%arg0 = %6, %arg1 = %5, %arg2 = %9, %arg3 = %3, %arg4 = %10) : tensor<i32>, tensor<48x48xi32>, tensor<2x48xi32>, tensor<5x2x48xi32>, tensor<48xi32>
    cond {
      %18 = stablehlo.compare LT, %arg0, %8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %18 : tensor<i1>
    } do {
      %19 = stablehlo.dynamic_slice %1, %6, %arg0, %6, sizes = [2, 1, 48] : (tensor<2x5x48xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x48xi32>
      %20 = stablehlo.reshape %19 : (tensor<2x1x48xi32>) -> tensor<2x48xi32>
      %21 = stablehlo.constant dense<0> : tensor<i32>
      %22 = stablehlo.dynamic_slice %11, %21, %arg0, %21, sizes = [2, 1, 48] : (tensor<2x5x48xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x48xi32>
      %23 = stablehlo.reshape %22 : (tensor<2x1x48xi32>) -> tensor<2x48xi32>
      %24 = stablehlo.maximum %arg2, %23 : tensor<2x48xi32>
      %25 = stablehlo.dynamic_slice %arg3, %arg0, %6, %6, sizes = [1, 2, 48] : (tensor<5x2x48xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xi32>
      %26 = stablehlo.reshape %25 : (tensor<1x2x48xi32>) -> tensor<96xi32>
      %27 = stablehlo.slice %26 [0:48] : (tensor<96xi32>) -> tensor<48xi32>
      %28 = stablehlo.reshape %arg1 : (tensor<48x48xi32>) -> tensor<2304xi32>
      %29 = stablehlo.concatenate %28, %28, dim = 0 : (tensor<2304xi32>, tensor<2304xi32>) -> tensor<4608xi32>
      %30 = stablehlo.reshape %29 : (tensor<4608xi32>) -> tensor<96x48xi32>
      %31 = stablehlo.constant dense<0> : tensor<i32>
      %32 = stablehlo.dynamic_slice %16, %arg0, %31, sizes = [1, 48] : (tensor<5x48xi32>, tensor<i32>, tensor<i32>) -> tensor<1x48xi32>
      %33 = stablehlo.reshape %32 : (tensor<1x48xi32>) -> tensor<48xi32>
      %34 = stablehlo.subtract %33, %arg4 : tensor<48xi32>
      %35 = stablehlo.subtract %34, %27 : tensor<48xi32>
      %36 = stablehlo.add %arg0, %7 : tensor<i32>
      stablehlo.return %36, %arg1, %24, %arg3, %35 : tensor<i32>, tensor<48x48xi32>, tensor<2x48xi32>, tensor<5x2x48xi32>, tensor<48xi32>
    }
    check.expect_eq_const %17#2, dense<4512> : tensor<2x48xi32>
    check.expect_eq_const %17#4, dense<4510> : tensor<48xi32>
    return
  }
}
// -----
// Of the weights of a concatenation each operand has its rows; those of slices are multiplied before the loop.
func.func @main() {
  %x0 = stablehlo.iota dim = 0 : tensor<4x2x48xf32>
  %x = stablehlo.optimization_barrier %x0 : tensor<4x2x48xf32>
  %wx = stablehlo.constant dense<0.5> : tensor<48x48xf32>
  %wh = stablehlo.constant dense<0.015625> : tensor<48x48xf32>
  %wb = stablehlo.constant dense<1.0> : tensor<1x48xf32>
  %w0 = stablehlo.concatenate %wx, %wh, %wb, dim = 0 : (tensor<48x48xf32>, tensor<48x48xf32>, tensor<1x48xf32>) -> tensor<97x48xf32>
  %w = stablehlo.optimization_barrier %w0 : tensor<97x48xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %h = stablehlo.constant dense<0.0> : tensor<2x48xf32>
  %b = stablehlo.constant dense<1.0> : tensor<2x1xf32>
  %0:2 = stablehlo.while(%i = %z, %s = %h) : tensor<i32>, tensor<2x48xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 2, 48] : (tensor<4x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %3 = stablehlo.concatenate %2, %s, %b, dim = 1 : (tensor<2x48xf32>, tensor<2x48xf32>, tensor<2x1xf32>) -> tensor<2x97xf32>
      %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<2x97xf32>, tensor<97x48xf32>) -> tensor<2x48xf32>
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %5, %4 : tensor<i32>, tensor<2x48xf32>
    }
  check.expect_eq_const %0#1, dense<124.234375> : tensor<2x48xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<4x2x48xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<4x2x48xf32>
    %2 = stablehlo.constant dense<5.000000e-01> : tensor<48x48xf32>
    %3 = stablehlo.constant dense<1.562500e-02> : tensor<48x48xf32>
    %4 = stablehlo.constant dense<1.000000e+00> : tensor<1x48xf32>
    %5 = stablehlo.concatenate %2, %3, %4, dim = 0 : (tensor<48x48xf32>, tensor<48x48xf32>, tensor<1x48xf32>) -> tensor<97x48xf32>
    %6 = stablehlo.optimization_barrier %5 : tensor<97x48xf32>
    %7 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.constant dense<1> : tensor<i32>
    %9 = stablehlo.constant dense<4> : tensor<i32>
    %10 = stablehlo.constant dense<0.000000e+00> : tensor<2x48xf32>
    %11 = stablehlo.constant dense<1.000000e+00> : tensor<2x1xf32>
    %12 = stablehlo.slice %6 [0:48, 0:48] : (tensor<97x48xf32>) -> tensor<48x48xf32>
    %13 = stablehlo.dot_general %1, %12, contracting_dims = [2] x [0] : (tensor<4x2x48xf32>, tensor<48x48xf32>) -> tensor<4x2x48xf32>
    %14 = stablehlo.slice %6 [48:97, 0:48] : (tensor<97x48xf32>) -> tensor<49x48xf32>
    %15:2 = stablehlo.while(%arg0 = %7, %arg1 = %10) : tensor<i32>, tensor<2x48xf32>
    cond {
      %16 = stablehlo.compare LT, %arg0, %9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    } do {
      %17 = stablehlo.dynamic_slice %1, %arg0, %7, %7, sizes = [1, 2, 48] : (tensor<4x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %18 = stablehlo.reshape %17 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %19 = stablehlo.concatenate %18, %arg1, %11, dim = 1 : (tensor<2x48xf32>, tensor<2x48xf32>, tensor<2x1xf32>) -> tensor<2x97xf32>
      %20 = stablehlo.constant dense<0> : tensor<i32>
      %21 = stablehlo.dynamic_slice %13, %arg0, %20, %20, sizes = [1, 2, 48] : (tensor<4x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %22 = stablehlo.reshape %21 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %23 = stablehlo.concatenate %arg1, %11, dim = 1 : (tensor<2x48xf32>, tensor<2x1xf32>) -> tensor<2x49xf32>
      %24 = stablehlo.dot_general %23, %14, contracting_dims = [1] x [0] : (tensor<2x49xf32>, tensor<49x48xf32>) -> tensor<2x48xf32>
      %25 = stablehlo.add %22, %24 : tensor<2x48xf32>
      %26 = stablehlo.add %arg0, %8 : tensor<i32>
      stablehlo.return %26, %25 : tensor<i32>, tensor<2x48xf32>
    }
    check.expect_eq_const %15#1, dense<124.234375> : tensor<2x48xf32>
    return
  }
}
// -----
// Sums of products, of which one operand is a slice, both, or none are; sums of columns; and products that are stored: after the
// loop, of what it stores instead.
func.func @main() {
  %x0 = stablehlo.iota dim = 0 : tensor<4x2x48xf32>
  %x = stablehlo.optimization_barrier %x0 : tensor<4x2x48xf32>
  %w0 = stablehlo.constant dense<0.25> : tensor<48x48xf32>
  %w = stablehlo.optimization_barrier %w0 : tensor<48x48xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %h = stablehlo.constant dense<1.0> : tensor<2x48xf32>
  %p = stablehlo.constant dense<1.0> : tensor<48x48xf32>
  %q = stablehlo.constant dense<0.0> : tensor<48xf32>
  %n = stablehlo.constant dense<0.0> : tensor<4x2x48xf32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %0:6 = stablehlo.while(%i = %z, %s = %h, %dw = %p, %du = %p, %db = %q, %ys = %n) : tensor<i32>, tensor<2x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48xf32>, tensor<4x2x48xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %half = stablehlo.constant dense<0.5> : tensor<2x48xf32>
      %at = stablehlo.subtract %three, %i : tensor<i32>
      %1 = stablehlo.dynamic_slice %x, %at, %z, %z, sizes = [1, 2, 48] : (tensor<4x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %3 = stablehlo.multiply %s, %half : tensor<2x48xf32>
      %4 = stablehlo.add %3, %2 : tensor<2x48xf32>
      %5 = stablehlo.dot_general %2, %4, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %6 = stablehlo.add %dw, %5 : tensor<48x48xf32>
      %7 = stablehlo.dot_general %4, %s, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %8 = stablehlo.add %7, %du : tensor<48x48xf32>
      %9 = stablehlo.reduce(%4 init: %f) applies stablehlo.add across dimensions = [0] : (tensor<2x48xf32>, tensor<f32>) -> tensor<48xf32>
      %10 = stablehlo.add %db, %9 : tensor<48xf32>
      %11 = stablehlo.dot_general %4, %w, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %12 = stablehlo.reshape %11 : (tensor<2x48xf32>) -> tensor<1x2x48xf32>
      %13 = stablehlo.dynamic_update_slice %ys, %12, %at, %z, %z : (tensor<4x2x48xf32>, tensor<1x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x48xf32>
      %14 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %14, %4, %6, %8, %10, %13 : tensor<i32>, tensor<2x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48xf32>, tensor<4x2x48xf32>
    }
  check.expect_eq_const %0#1, dense<1.4375> : tensor<2x48xf32>
  check.expect_eq_const %0#2, dense<4.275000e+01> : tensor<48x48xf32>
  check.expect_eq_const %0#3, dense<64.078125> : tensor<48x48xf32>
  check.expect_eq_const %0#4, dense<2.312500e+01> : tensor<48xf32>
  %e = stablehlo.constant dense<[17.25, 34.5, 45.0, 42.0]> : tensor<4xf32>
  %e1 = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<4xf32>) -> tensor<4x2x48xf32>
  check.expect_eq %0#5, %e1 : tensor<4x2x48xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<4x2x48xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<4x2x48xf32>
    %2 = stablehlo.constant dense<2.500000e-01> : tensor<48x48xf32>
    %3 = stablehlo.optimization_barrier %2 : tensor<48x48xf32>
    %4 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.constant dense<1> : tensor<i32>
    %6 = stablehlo.constant dense<3> : tensor<i32>
    %7 = stablehlo.constant dense<4> : tensor<i32>
    %8 = stablehlo.constant dense<1.000000e+00> : tensor<2x48xf32>
    %9 = stablehlo.constant dense<1.000000e+00> : tensor<48x48xf32>
    %10 = stablehlo.constant dense<0.000000e+00> : tensor<48xf32>
    %11 = stablehlo.constant dense<0.000000e+00> : tensor<4x2x48xf32>
    %12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.constant dense<0.000000e+00> : tensor<4x2x48xf32>
    %14 = stablehlo.constant dense<0.000000e+00> : tensor<4x2x48xf32>
    %15:8 = stablehlo.while(%arg0 = %4, %arg1 = %8, %arg2 = %9, %arg3 = %9, %arg4 = %10, %arg5 = %11, %arg6 = %13, %arg7 = %14) : tensor<i32>, tensor<2x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48xf32>, tensor<4x2x48xf32>, tensor<4x2x48xf32>, tensor<4x2x48xf32>
    cond {
      %16 = stablehlo.compare LT, %arg0, %7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    } do {
      %17 = stablehlo.constant dense<5.000000e-01> : tensor<2x48xf32>
      %18 = stablehlo.subtract %6, %arg0 : tensor<i32>
      %19 = stablehlo.dynamic_slice %1, %18, %4, %4, sizes = [1, 2, 48] : (tensor<4x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %20 = stablehlo.reshape %19 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %21 = stablehlo.multiply %arg1, %17 : tensor<2x48xf32>
      %22 = stablehlo.add %21, %20 : tensor<2x48xf32>
      %23 = stablehlo.dot_general %20, %22, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %24 = stablehlo.add %arg2, %23 : tensor<48x48xf32>
      %25 = stablehlo.dot_general %22, %arg1, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %26 = stablehlo.add %25, %arg3 : tensor<48x48xf32>
      %27 = stablehlo.reduce(%22 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<2x48xf32>, tensor<f32>) -> tensor<48xf32>
      %28 = stablehlo.add %arg4, %27 : tensor<48xf32>
      %29 = stablehlo.dot_general %22, %3, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %30 = stablehlo.reshape %29 : (tensor<2x48xf32>) -> tensor<1x2x48xf32>
      %31 = stablehlo.dynamic_update_slice %arg5, %30, %18, %4, %4 : (tensor<4x2x48xf32>, tensor<1x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x48xf32>
      %32 = stablehlo.add %arg0, %5 : tensor<i32>
      %33 = stablehlo.constant dense<0> : tensor<i32>
      %34 = stablehlo.reshape %22 : (tensor<2x48xf32>) -> tensor<1x2x48xf32>
      %35 = stablehlo.dynamic_update_slice %arg6, %34, %18, %33, %33 : (tensor<4x2x48xf32>, tensor<1x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x48xf32>
      %36 = stablehlo.constant dense<0> : tensor<i32>
      %37 = stablehlo.reshape %arg1 : (tensor<2x48xf32>) -> tensor<1x2x48xf32>
      %38 = stablehlo.dynamic_update_slice %arg7, %37, %18, %36, %36 : (tensor<4x2x48xf32>, tensor<1x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x48xf32>
      stablehlo.return %32, %22, %24, %26, %28, %31, %35, %38 : tensor<i32>, tensor<2x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48xf32>, tensor<4x2x48xf32>, tensor<4x2x48xf32>, tensor<4x2x48xf32>
    }
    %39 = stablehlo.dot_general %1, %15#6, contracting_dims = [0, 1] x [0, 1] : (tensor<4x2x48xf32>, tensor<4x2x48xf32>) -> tensor<48x48xf32>
    %40 = stablehlo.add %9, %39 : tensor<48x48xf32>
    %41 = stablehlo.dot_general %15#6, %15#7, contracting_dims = [0, 1] x [0, 1] : (tensor<4x2x48xf32>, tensor<4x2x48xf32>) -> tensor<48x48xf32>
    %42 = stablehlo.add %9, %41 : tensor<48x48xf32>
    %43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%15#6 init: %43) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2x48xf32>, tensor<f32>) -> tensor<48xf32>
    %45 = stablehlo.add %10, %44 : tensor<48xf32>
    %46 = stablehlo.dot_general %15#6, %3, contracting_dims = [2] x [0] : (tensor<4x2x48xf32>, tensor<48x48xf32>) -> tensor<4x2x48xf32>
    check.expect_eq_const %15#1, dense<1.437500e+00> : tensor<2x48xf32>
    check.expect_eq_const %40, dense<4.275000e+01> : tensor<48x48xf32>
    check.expect_eq_const %42, dense<64.078125> : tensor<48x48xf32>
    check.expect_eq_const %45, dense<2.312500e+01> : tensor<48xf32>
    %47 = stablehlo.constant dense<[1.725000e+01, 3.450000e+01, 4.500000e+01, 4.200000e+01]> : tensor<4xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<4xf32>) -> tensor<4x2x48xf32>
    check.expect_eq %46, %48 : tensor<4x2x48xf32>
    return
  }
}
// -----
// Left in the loop: a sum that is rounded to few bits; one that is read; a slice that moves by two; one of what the loop changes;
// a product that is larger than the weights; a loop whose trip count is not known.
func.func @f(%x: tensor<8x2x48xf32>, %w: tensor<48x48xf32>, %k: tensor<1x2400xf32>, %n: tensor<i32>, %y: tensor<2x72xbf16>, %b: tensor<2x48xf32>) -> (tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<2x48xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %p = stablehlo.constant dense<0.0> : tensor<72x72xbf16>
  %q = stablehlo.constant dense<0.0> : tensor<48x48xf32>
  %r = stablehlo.constant dense<0.0> : tensor<2x48xf32>
  %o = stablehlo.constant dense<0.0> : tensor<96x2400xf32>
  %0:8 = stablehlo.while(%i = %z, %dy = %p, %db = %q, %s = %r, %t = %r, %u = %o, %v = %x, %h = %y) : tensor<i32>, tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<8x2x48xf32>, tensor<2x72xbf16>
    cond {
      %1 = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.multiply %h, %h : tensor<2x72xbf16>
      %2 = stablehlo.dot_general %1, %h, contracting_dims = [0] x [0] : (tensor<2x72xbf16>, tensor<2x72xbf16>) -> tensor<72x72xbf16>
      %3 = stablehlo.add %dy, %2 : tensor<72x72xbf16>
      %4 = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %6 = stablehlo.slice %db [0:2, 0:48] : (tensor<48x48xf32>) -> tensor<2x48xf32>
      %7 = stablehlo.dot_general %5, %6, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %8 = stablehlo.add %db, %7 : tensor<48x48xf32>
      %9 = stablehlo.add %i, %i : tensor<i32>
      %10 = stablehlo.dynamic_slice %x, %9, %z, %z, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %11 = stablehlo.reshape %10 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %12 = stablehlo.dot_general %11, %w, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %13 = stablehlo.maximum %s, %12 : tensor<2x48xf32>
      %14 = stablehlo.dynamic_slice %v, %i, %z, %z, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %15 = stablehlo.reshape %14 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %16 = stablehlo.dot_general %15, %w, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %17 = stablehlo.maximum %t, %16 : tensor<2x48xf32>
      %18 = stablehlo.reshape %4 : (tensor<1x2x48xf32>) -> tensor<96x1xf32>
      %19 = stablehlo.dot_general %18, %k, contracting_dims = [1] x [0] : (tensor<96x1xf32>, tensor<1x2400xf32>) -> tensor<96x2400xf32>
      %20 = stablehlo.maximum %u, %19 : tensor<96x2400xf32>
      %21 = stablehlo.negate %v : tensor<8x2x48xf32>
      %22 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %22, %3, %8, %13, %17, %20, %21, %1 : tensor<i32>, tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<8x2x48xf32>, tensor<2x72xbf16>
    }
  %1:2 = stablehlo.while(%i = %z, %s = %r) : tensor<i32>, tensor<2x48xf32>
    cond {
      %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %3 = stablehlo.reshape %2 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %5 = stablehlo.maximum %s, %4 : tensor<2x48xf32>
      %6 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %6, %5 : tensor<i32>, tensor<2x48xf32>
    }
  return %0#1, %0#2, %0#3, %0#4, %0#5, %1#1 : tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<2x48xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<8x2x48xf32>, %arg1: tensor<48x48xf32>, %arg2: tensor<1x2400xf32>, %arg3: tensor<i32>, %arg4: tensor<2x72xbf16>, %arg5: tensor<2x48xf32>) -> (tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<2x48xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.constant dense<8> : tensor<i32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<72x72xbf16>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<48x48xf32>
    %6 = stablehlo.constant dense<0.000000e+00> : tensor<2x48xf32>
    %7 = stablehlo.constant dense<0.000000e+00> : tensor<96x2400xf32>
    %8:8 = stablehlo.while(%arg6 = %0, %arg7 = %4, %arg8 = %5, %arg9 = %6, %arg10 = %6, %arg11 = %7, %arg12 = %arg0, %arg13 = %arg4) : tensor<i32>, tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<8x2x48xf32>, tensor<2x72xbf16>
    cond {
      %9 = stablehlo.compare LT, %arg6, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %10 = stablehlo.multiply %arg13, %arg13 : tensor<2x72xbf16>
      %11 = stablehlo.dot_general %10, %arg13, contracting_dims = [0] x [0] : (tensor<2x72xbf16>, tensor<2x72xbf16>) -> tensor<72x72xbf16>
      %12 = stablehlo.add %arg7, %11 : tensor<72x72xbf16>
      %13 = stablehlo.dynamic_slice %arg0, %arg6, %0, %0, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %14 = stablehlo.reshape %13 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %15 = stablehlo.slice %arg8 [0:2, 0:48] : (tensor<48x48xf32>) -> tensor<2x48xf32>
      %16 = stablehlo.dot_general %14, %15, contracting_dims = [0] x [0] : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<48x48xf32>
      %17 = stablehlo.add %arg8, %16 : tensor<48x48xf32>
      %18 = stablehlo.add %arg6, %arg6 : tensor<i32>
      %19 = stablehlo.dynamic_slice %arg0, %18, %0, %0, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %20 = stablehlo.reshape %19 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %21 = stablehlo.dot_general %20, %arg1, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %22 = stablehlo.maximum %arg9, %21 : tensor<2x48xf32>
      %23 = stablehlo.dynamic_slice %arg12, %arg6, %0, %0, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %24 = stablehlo.reshape %23 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %25 = stablehlo.dot_general %24, %arg1, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %26 = stablehlo.maximum %arg10, %25 : tensor<2x48xf32>
      %27 = stablehlo.reshape %13 : (tensor<1x2x48xf32>) -> tensor<96x1xf32>
      %28 = stablehlo.dot_general %27, %arg2, contracting_dims = [1] x [0] : (tensor<96x1xf32>, tensor<1x2400xf32>) -> tensor<96x2400xf32>
      %29 = stablehlo.maximum %arg11, %28 : tensor<96x2400xf32>
      %30 = stablehlo.negate %arg12 : tensor<8x2x48xf32>
      %31 = stablehlo.add %arg6, %1 : tensor<i32>
      stablehlo.return %31, %12, %17, %22, %26, %29, %30, %10 : tensor<i32>, tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<8x2x48xf32>, tensor<2x72xbf16>
    }
    %32:2 = stablehlo.while(%arg14 = %0, %arg15 = %6) : tensor<i32>, tensor<2x48xf32>
    cond {
      %33 = stablehlo.compare LT, %arg14, %arg3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %33 : tensor<i1>
    } do {
      %34 = stablehlo.dynamic_slice %arg0, %arg14, %0, %0, sizes = [1, 2, 48] : (tensor<8x2x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x48xf32>
      %35 = stablehlo.reshape %34 : (tensor<1x2x48xf32>) -> tensor<2x48xf32>
      %36 = stablehlo.dot_general %35, %arg1, contracting_dims = [1] x [0] : (tensor<2x48xf32>, tensor<48x48xf32>) -> tensor<2x48xf32>
      %37 = stablehlo.maximum %arg15, %36 : tensor<2x48xf32>
      %38 = stablehlo.add %arg14, %1 : tensor<i32>
      stablehlo.return %38, %37 : tensor<i32>, tensor<2x48xf32>
    }
    return %8#1, %8#2, %8#3, %8#4, %8#5, %32#1 : tensor<72x72xbf16>, tensor<48x48xf32>, tensor<2x48xf32>, tensor<2x48xf32>, tensor<96x2400xf32>, tensor<2x48xf32>
  }
}
// -----
// Weights of a few kilobytes stay in the cache, and their products in the loop.
func.func @f(%x: tensor<8x2x3xf32>, %w: tensor<3x4xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %s = %h) : tensor<i32>, tensor<2x4xf32>
    cond {
      %2 = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 2, 3] : (tensor<8x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %3 = stablehlo.reshape %2 : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %5 = stablehlo.maximum %s, %4 : tensor<2x4xf32>
      %6 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %6, %5 : tensor<i32>, tensor<2x4xf32>
    }
  return %0#1 : tensor<2x4xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<8x2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<8> : tensor<i32>
    %3:2 = stablehlo.while(%arg3 = %0, %arg4 = %arg2) : tensor<i32>, tensor<2x4xf32>
    cond {
      %4 = stablehlo.compare LT, %arg3, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %5 = stablehlo.dynamic_slice %arg0, %arg3, %0, %0, sizes = [1, 2, 3] : (tensor<8x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %6 = stablehlo.reshape %5 : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %7 = stablehlo.dot_general %6, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %8 = stablehlo.maximum %arg4, %7 : tensor<2x4xf32>
      %9 = stablehlo.add %arg3, %1 : tensor<i32>
      stablehlo.return %9, %8 : tensor<i32>, tensor<2x4xf32>
    }
    return %3#1 : tensor<2x4xf32>
  }
}
