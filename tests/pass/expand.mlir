// A batch norm and its decomposition have the same bits.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 5.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<[1.5, 0.5]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %0#1, %0#2) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0#0, dense<[[-0.5, -1.5], [2.5, -0.5]]> : tensor<2x2xf32>
  check.expect_eq_const %0#1, dense<[2.0, 3.5]> : tensor<2xf32>
  check.expect_eq_const %0#2, dense<[1.0, 2.25]> : tensor<2xf32>
  check.expect_eq_const %1, dense<[[-0.5, -1.5], [2.5, -0.5]]> : tensor<2x2xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 5.000000e+00]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<[1.500000e+00, 5.000000e-01]> : tensor<2xf32>
    %2 = stablehlo.constant dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %4 = stablehlo.constant dense<2.000000e+00> : tensor<2xf32>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%0 init: %5) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %7 = stablehlo.divide %6, %4 : tensor<2xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %9 = stablehlo.subtract %0, %8 : tensor<2x2xf32>
    %10 = stablehlo.multiply %9, %9 : tensor<2x2xf32>
    %11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %13 = stablehlo.divide %12, %4 : tensor<2xf32>
    %14 = stablehlo.add %13, %3 : tensor<2xf32>
    %15 = stablehlo.sqrt %14 : tensor<2xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %17 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %18 = stablehlo.subtract %0, %17 : tensor<2x2xf32>
    %19 = stablehlo.divide %18, %16 : tensor<2x2xf32>
    %20 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %21 = stablehlo.multiply %20, %19 : tensor<2x2xf32>
    %22 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %23 = stablehlo.add %21, %22 : tensor<2x2xf32>
    %24 = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %25 = stablehlo.constant dense<2.000000e+00> : tensor<2xf32>
    %26 = stablehlo.add %13, %24 : tensor<2xf32>
    %27 = stablehlo.sqrt %26 : tensor<2xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %29 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %30 = stablehlo.subtract %0, %29 : tensor<2x2xf32>
    %31 = stablehlo.divide %30, %28 : tensor<2x2xf32>
    %32 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %33 = stablehlo.multiply %32, %31 : tensor<2x2xf32>
    %34 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %35 = stablehlo.add %33, %34 : tensor<2x2xf32>
    check.expect_eq_const %23, dense<[[-5.000000e-01, -1.500000e+00], [2.500000e+00, -5.000000e-01]]> : tensor<2x2xf32>
    check.expect_eq_const %7, dense<[2.000000e+00, 3.500000e+00]> : tensor<2xf32>
    check.expect_eq_const %13, dense<[1.000000e+00, 2.250000e+00]> : tensor<2xf32>
    check.expect_eq_const %35, dense<[[-5.000000e-01, -1.500000e+00], [2.500000e+00, -5.000000e-01]]> : tensor<2x2xf32>
    return
  }
}
// -----
// Its gradient.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf64>
  %scale = stablehlo.constant dense<2.0> : tensor<1xf64>
  %mean = stablehlo.constant dense<2.0> : tensor<1xf64>
  %variance = stablehlo.constant dense<3.0> : tensor<1xf64>
  %grad = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf64>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %grad) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<2x1xf64>) -> (tensor<2x1xf64>, tensor<1xf64>, tensor<1xf64>)
  check.expect_eq_const %0#0, dense<[[-0.75], [0.75]]> : tensor<2x1xf64>
  check.expect_eq_const %0#1, dense<1.0> : tensor<1xf64>
  check.expect_eq_const %0#2, dense<4.0> : tensor<1xf64>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1.000000e+00], [3.000000e+00]]> : tensor<2x1xf64>
    %1 = stablehlo.constant dense<2.000000e+00> : tensor<1xf64>
    %2 = stablehlo.constant dense<2.000000e+00> : tensor<1xf64>
    %3 = stablehlo.constant dense<3.000000e+00> : tensor<1xf64>
    %4 = stablehlo.constant dense<[[1.000000e+00], [3.000000e+00]]> : tensor<2x1xf64>
    %5 = stablehlo.constant dense<1.000000e+00> : tensor<1xf64>
    %6 = stablehlo.constant dense<2.000000e+00> : tensor<1xf64>
    %7 = stablehlo.add %3, %5 : tensor<1xf64>
    %8 = stablehlo.sqrt %7 : tensor<1xf64>
    %9 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %10 = stablehlo.subtract %0, %9 : tensor<2x1xf64>
    %11 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %12 = stablehlo.divide %10, %11 : tensor<2x1xf64>
    %13 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %14 = stablehlo.reduce(%4 init: %13) applies stablehlo.add across dimensions = [0] : (tensor<2x1xf64>, tensor<f64>) -> tensor<1xf64>
    %15 = stablehlo.multiply %4, %12 : tensor<2x1xf64>
    %16 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.add across dimensions = [0] : (tensor<2x1xf64>, tensor<f64>) -> tensor<1xf64>
    %18 = stablehlo.multiply %4, %10 : tensor<2x1xf64>
    %19 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %20 = stablehlo.reduce(%18 init: %19) applies stablehlo.add across dimensions = [0] : (tensor<2x1xf64>, tensor<f64>) -> tensor<1xf64>
    %21 = stablehlo.divide %1, %8 : tensor<1xf64>
    %22 = stablehlo.divide %21, %6 : tensor<1xf64>
    %23 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %24 = stablehlo.multiply %4, %23 : tensor<2x1xf64>
    %25 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %26 = stablehlo.multiply %25, %10 : tensor<2x1xf64>
    %27 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %28 = stablehlo.divide %26, %27 : tensor<2x1xf64>
    %29 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %30 = stablehlo.subtract %24, %29 : tensor<2x1xf64>
    %31 = stablehlo.subtract %30, %28 : tensor<2x1xf64>
    %32 = stablehlo.broadcast_in_dim %22, dims = [1] : (tensor<1xf64>) -> tensor<2x1xf64>
    %33 = stablehlo.multiply %32, %31 : tensor<2x1xf64>
    check.expect_eq_const %33, dense<[[-7.500000e-01], [7.500000e-01]]> : tensor<2x1xf64>
    check.expect_eq_const %17, dense<1.000000e+00> : tensor<1xf64>
    check.expect_eq_const %14, dense<4.000000e+00> : tensor<1xf64>
    return
  }
}
// -----
// CHLO: operands broadcast as numpy does, or along the dimensions that are given.
func.func @main() {
  %a = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = stablehlo.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  %c = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = chlo.broadcast_add %a, %b : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = chlo.broadcast_compare %0, %c {broadcast_dimensions = array<i64: 0>, comparison_direction = #chlo<comparison_direction GT>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xi1>
  check.expect_eq_const %0, dense<[[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]> : tensor<2x3xf32>
  check.expect_eq_const %1, dense<[[true, true, true], [false, true, true]]> : tensor<2x3xi1>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
    %1 = stablehlo.constant dense<[1.000000e+01, 2.000000e+01, 3.000000e+01]> : tensor<3xf32>
    %2 = stablehlo.constant dense<[1.000000e+01, 2.000000e+01]> : tensor<2xf32>
    %3 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %5 = stablehlo.add %3, %4 : tensor<2x3xf32>
    %6 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %7 = stablehlo.compare GT, %5, %6 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    check.expect_eq_const %5, dense<[[1.100000e+01, 2.100000e+01, 3.100000e+01], [1.200000e+01, 2.200000e+01, 3.200000e+01]]> : tensor<2x3xf32>
    check.expect_eq_const %7, dense<[[true, true, true], [false, true, true]]> : tensor<2x3xi1>
    return
  }
}
// -----
// CHLO: what is one or two ops; a transcendental function stays.
func.func @main() {
  %x = stablehlo.constant dense<[0.5, 0xFF800000, 0x7F800000]> : tensor<3xf32>
  %0 = chlo.is_inf %x : tensor<3xf32> -> tensor<3xi1>
  %1 = chlo.is_neg_inf %x : tensor<3xf32> -> tensor<3xi1>
  %2 = chlo.is_pos_inf %x : tensor<3xf32> -> tensor<3xi1>
  %3 = chlo.square %x : tensor<3xf32> -> tensor<3xf32>
  %4 = "chlo.constant_like"(%x) {value = 2.0 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  %5 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %0, dense<[false, true, true]> : tensor<3xi1>
  check.expect_eq_const %1, dense<[false, true, false]> : tensor<3xi1>
  check.expect_eq_const %2, dense<[false, false, true]> : tensor<3xi1>
  check.expect_eq_const %3, dense<[0.25, 0x7F800000, 0x7F800000]> : tensor<3xf32>
  check.expect_eq_const %4, dense<2.0> : tensor<3xf32>
  check.expect_almost_eq_const %5, dense<[0.5204999, -1.0, 1.0]> : tensor<3xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<[5.000000e-01, 0xFF800000, 0x7F800000]> : tensor<3xf32>
    %1 = stablehlo.abs %0 : tensor<3xf32>
    %2 = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
    %3 = stablehlo.compare EQ, %1, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %4 = stablehlo.constant dense<0xFF800000> : tensor<3xf32>
    %5 = stablehlo.compare EQ, %0, %4 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %6 = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
    %7 = stablehlo.compare EQ, %0, %6 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %8 = stablehlo.multiply %0, %0 : tensor<3xf32>
    %9 = stablehlo.constant dense<2.000000e+00> : tensor<3xf32>
    %10 = chlo.erf %0 : tensor<3xf32> -> tensor<3xf32>
    check.expect_eq_const %3, dense<[false, true, true]> : tensor<3xi1>
    check.expect_eq_const %5, dense<[false, true, false]> : tensor<3xi1>
    check.expect_eq_const %7, dense<[false, false, true]> : tensor<3xi1>
    check.expect_eq_const %8, dense<[2.500000e-01, 0x7F800000, 0x7F800000]> : tensor<3xf32>
    check.expect_eq_const %9, dense<2.000000e+00> : tensor<3xf32>
    check.expect_almost_eq_const %10, dense<[0.520499885, -1.000000e+00, 1.000000e+00]> : tensor<3xf32>
    return
  }
}
