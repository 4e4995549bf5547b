// 1x1 convolutions of one image in NCHW against products of its planes, or of parts of them. All numbers are integers that f32 has exactly.

// The places of the result are those of the image.
func.func @planes() {
  %n = stablehlo.iota dim = 0 : tensor<2304xf32>
  %five = stablehlo.constant dense<5.0> : tensor<2304xf32>
  %r = stablehlo.remainder %n, %five : tensor<2304xf32>
  %x = stablehlo.reshape %r : (tensor<2304xf32>) -> tensor<1x16x12x12xf32>
  %k = stablehlo.iota dim = 0 : tensor<384xf32>
  %seven = stablehlo.constant dense<7.0> : tensor<384xf32>
  %s = stablehlo.remainder %k, %seven : tensor<384xf32>
  %w = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16x1x1xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  %a = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16xf32>
  %b = stablehlo.reshape %r : (tensor<2304xf32>) -> tensor<16x144xf32>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x144xf32>) -> tensor<24x144xf32>
  %1 = stablehlo.reshape %d : (tensor<24x144xf32>) -> tensor<1x24x12x12xf32>
  check.expect_eq %0, %1 : tensor<1x24x12x12xf32>
  return
}

// -----

// Padding shifts the places by a row, or makes up for a stride; the result is as large as the image.
func.func @other_places() {
  %n = stablehlo.iota dim = 0 : tensor<2304xf32>
  %five = stablehlo.constant dense<5.0> : tensor<2304xf32>
  %r = stablehlo.remainder %n, %five : tensor<2304xf32>
  %x = stablehlo.reshape %r : (tensor<2304xf32>) -> tensor<1x16x12x12xf32>
  %k = stablehlo.iota dim = 0 : tensor<384xf32>
  %seven = stablehlo.constant dense<7.0> : tensor<384xf32>
  %s = stablehlo.remainder %k, %seven : tensor<384xf32>
  %w = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16x1x1xf32>
  %a = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, -1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  %p = stablehlo.pad %x, %zero, low = [0, 0, 1, 0], high = [0, 0, -1, 0], interior = [0, 0, 0, 0] : (tensor<1x16x12x12xf32>, tensor<f32>) -> tensor<1x16x12x12xf32>
  %b = stablehlo.reshape %p : (tensor<1x16x12x12xf32>) -> tensor<16x144xf32>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x144xf32>) -> tensor<24x144xf32>
  %1 = stablehlo.reshape %d : (tensor<24x144xf32>) -> tensor<1x24x12x12xf32>
  check.expect_eq %0, %1 : tensor<1x24x12x12xf32>
  %2 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[0, 11], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x12x12xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x12x12xf32>
  %q = stablehlo.pad %x, %zero, low = [0, 0, 0, 0], high = [0, 0, 11, 0], interior = [0, 0, 0, 0] : (tensor<1x16x12x12xf32>, tensor<f32>) -> tensor<1x16x23x12xf32>
  %t = stablehlo.slice %q [0:1, 0:16, 0:23:2, 0:12] : (tensor<1x16x23x12xf32>) -> tensor<1x16x12x12xf32>
  %e = stablehlo.reshape %t : (tensor<1x16x12x12xf32>) -> tensor<16x144xf32>
  %f = stablehlo.dot_general %a, %e, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x144xf32>) -> tensor<24x144xf32>
  %3 = stablehlo.reshape %f : (tensor<24x144xf32>) -> tensor<1x24x12x12xf32>
  check.expect_eq %2, %3 : tensor<1x24x12x12xf32>
  return
}

// -----

// Strides and negative padding leave some places, or all of one dimension.
func.func @strides() {
  %n = stablehlo.iota dim = 0 : tensor<5280xf32>
  %five = stablehlo.constant dense<5.0> : tensor<5280xf32>
  %r = stablehlo.remainder %n, %five : tensor<5280xf32>
  %x = stablehlo.reshape %r : (tensor<5280xf32>) -> tensor<1x16x22x15xf32>
  %k = stablehlo.iota dim = 0 : tensor<384xf32>
  %seven = stablehlo.constant dense<7.0> : tensor<384xf32>
  %s = stablehlo.remainder %k, %seven : tensor<384xf32>
  %w = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16x1x1xf32>
  %a = stablehlo.reshape %s : (tensor<384xf32>) -> tensor<24x16xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x22x15xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x11x8xf32>
  %1 = stablehlo.slice %x [0:1, 0:16, 0:22:2, 0:15:2] : (tensor<1x16x22x15xf32>) -> tensor<1x16x11x8xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x16x11x8xf32>) -> tensor<16x88xf32>
  %3 = stablehlo.dot_general %a, %2, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x88xf32>) -> tensor<24x88xf32>
  %4 = stablehlo.reshape %3 : (tensor<24x88xf32>) -> tensor<1x24x11x8xf32>
  check.expect_eq %0, %4 : tensor<1x24x11x8xf32>
  %5 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [4, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x22x15xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x6x15xf32>
  %6 = stablehlo.slice %x [0:1, 0:16, 0:22:4, 0:15] : (tensor<1x16x22x15xf32>) -> tensor<1x16x6x15xf32>
  %7 = stablehlo.reshape %6 : (tensor<1x16x6x15xf32>) -> tensor<16x90xf32>
  %8 = stablehlo.dot_general %a, %7, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x90xf32>) -> tensor<24x90xf32>
  %9 = stablehlo.reshape %8 : (tensor<24x90xf32>) -> tensor<1x24x6x15xf32>
  check.expect_eq %5, %9 : tensor<1x24x6x15xf32>
  %10 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[-1, -3], [0, -2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x22x15xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x9x13xf32>
  %11 = stablehlo.slice %x [0:1, 0:16, 1:19:2, 0:13] : (tensor<1x16x22x15xf32>) -> tensor<1x16x9x13xf32>
  %12 = stablehlo.reshape %11 : (tensor<1x16x9x13xf32>) -> tensor<16x117xf32>
  %13 = stablehlo.dot_general %a, %12, contracting_dims = [1] x [0] : (tensor<24x16xf32>, tensor<16x117xf32>) -> tensor<24x117xf32>
  %14 = stablehlo.reshape %13 : (tensor<24x117xf32>) -> tensor<1x24x9x13xf32>
  check.expect_eq %10, %14 : tensor<1x24x9x13xf32>
  return
}
