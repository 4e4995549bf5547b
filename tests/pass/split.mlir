// One result: blocks of 8192 elements. What they begin with is neutral, unless the initial value is.
func.func @f(%x: tensor<1024x1024xf32>, %y: tensor<1000000xi32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%y init: %i) applies stablehlo.add across dimensions = [0] : (tensor<1000000xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<i32>, tensor<f32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1024x1024xf32>, %arg1: tensor<1000000xi32>, %arg2: tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reshape %arg0 : (tensor<1024x1024xf32>) -> tensor<128x8x1024xf32>
    %3 = stablehlo.reduce(%2 init: %0) applies stablehlo.add across dimensions = [1, 2] : (tensor<128x8x1024xf32>, tensor<f32>) -> tensor<128xf32>
    %4 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.reshape %arg1 : (tensor<1000000xi32>) -> tensor<125x8000xi32>
    %6 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<125x8000xi32>, tensor<i32>) -> tensor<125xi32>
    %8 = stablehlo.reduce(%7 init: %arg2) applies stablehlo.add across dimensions = [0] : (tensor<125xi32>, tensor<i32>) -> tensor<i32>
    %9 = stablehlo.reshape %arg0 : (tensor<1024x1024xf32>) -> tensor<128x8x1024xf32>
    %10 = stablehlo.reduce(%9 init: %1) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<128x8x1024xf32>, tensor<f32>) -> tensor<128xf32>
    %11 = stablehlo.reduce(%10 init: %1) applies stablehlo.maximum across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
    return %4, %8, %11 : tensor<f32>, tensor<i32>, tensor<f32>
  }
}
// -----
// Columns, of batch norms too: rows are shared. Many columns, and rows that can be shared, stay.
func.func @f(%x: tensor<16384x64xf32>, %y: tensor<32x32x32x64xf32>, %z: tensor<1024x4096xf32>, %w: tensor<32x65536xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<4096xf32>, tensor<32xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<16384x64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.reduce(%y init: %c) applies stablehlo.multiply across dimensions = [0, 1, 2] : (tensor<32x32x32x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.reduce(%z init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %3 = stablehlo.reduce(%w init: %c) applies stablehlo.add across dimensions = [1] : (tensor<32x65536xf32>, tensor<f32>) -> tensor<32xf32>
  return %0, %1, %2, %3 : tensor<64xf32>, tensor<64xf32>, tensor<4096xf32>, tensor<32xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<16384x64xf32>, %arg1: tensor<32x32x32x64xf32>, %arg2: tensor<1024x4096xf32>, %arg3: tensor<32x65536xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<4096xf32>, tensor<32xf32>) {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reshape %arg0 : (tensor<16384x64xf32>) -> tensor<128x128x64xf32>
    %2 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1] : (tensor<128x128x64xf32>, tensor<f32>) -> tensor<128x64xf32>
    %4 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<128x64xf32>, tensor<f32>) -> tensor<64xf32>
    %5 = stablehlo.reshape %arg1 : (tensor<32x32x32x64xf32>) -> tensor<32x8x4x32x64xf32>
    %6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.multiply across dimensions = [2, 3] : (tensor<32x8x4x32x64xf32>, tensor<f32>) -> tensor<32x8x64xf32>
    %8 = stablehlo.reduce(%7 init: %0) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<32x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %9 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<4096xf32>
    %10 = stablehlo.reduce(%arg3 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<32x65536xf32>, tensor<f32>) -> tensor<32xf32>
    return %4, %8, %9, %10 : tensor<64xf32>, tensor<64xf32>, tensor<4096xf32>, tensor<32xf32>
  }
}
// -----
// Sums of narrow floats are carried in f32. A body of more than one op stays, and so does one that is no reduction of pairs.
func.func @f(%x: tensor<131072xbf16>) -> (tensor<bf16>, tensor<bf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<131072xbf16>, tensor<bf16>) -> tensor<bf16>
  %1 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<131072xbf16>, tensor<bf16>) -> tensor<bf16>
    reducer(%a: tensor<bf16>, %b: tensor<bf16>) {
      %2 = stablehlo.multiply %b, %b : tensor<bf16>
      %3 = stablehlo.add %a, %2 : tensor<bf16>
      stablehlo.return %3 : tensor<bf16>
    }
  return %0, %1 : tensor<bf16>, tensor<bf16>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<131072xbf16>) -> (tensor<bf16>, tensor<bf16>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %1 = stablehlo.convert %arg0 : (tensor<131072xbf16>) -> tensor<131072xf32>
    %2 = stablehlo.convert %0 : (tensor<bf16>) -> tensor<f32>
    %3 = stablehlo.reshape %1 : (tensor<131072xf32>) -> tensor<16x8192xf32>
    %4 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.add across dimensions = [1] : (tensor<16x8192xf32>, tensor<f32>) -> tensor<16xf32>
    %6 = stablehlo.reduce(%5 init: %2) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %7 = stablehlo.convert %6 : (tensor<f32>) -> tensor<bf16>
    %8 = stablehlo.reduce(%arg0 init: %0) across dimensions = [0] : (tensor<131072xbf16>, tensor<bf16>) -> tensor<bf16>
     reducer(%arg1: tensor<bf16>, %arg2: tensor<bf16>)  {
      %9 = stablehlo.multiply %arg2, %arg2 : tensor<bf16>
      %10 = stablehlo.add %arg1, %9 : tensor<bf16>
      stablehlo.return %10 : tensor<bf16>
    }
    return %7, %8 : tensor<bf16>, tensor<bf16>
  }
}
// -----
// The greatest element and the first place where it is, as exporters write it; any other choice stays.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<131072xi32>
  %m = stablehlo.constant dense<50000> : tensor<131072xi32>
  %r = stablehlo.remainder %x, %m : tensor<131072xi32>
  %v = stablehlo.convert %r : (tensor<131072xi32>) -> tensor<131072xf32>
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%v init: %l), (%x init: %z) across dimensions = [0] : (tensor<131072xf32>, tensor<131072xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %1 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %a, %c : tensor<i1>, tensor<f32>
      %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
    }
  %10:2 = stablehlo.reduce(%v init: %l), (%x init: %z) across dimensions = [0] : (tensor<131072xf32>, tensor<131072xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %1 = stablehlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.minimum %i, %j : tensor<i32>
      %5 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
      %6 = stablehlo.select %3, %4, %5 : tensor<i1>, tensor<i32>
      stablehlo.return %2, %6 : tensor<f32>, tensor<i32>
    }
  %11:2 = stablehlo.reduce(%v init: %l), (%x init: %z) across dimensions = [0] : (tensor<131072xf32>, tensor<131072xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %1 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }
  check.expect_eq_const %0#0, dense<49999.0> : tensor<f32>
  check.expect_eq_const %0#1, dense<49999> : tensor<i32>
  check.expect_eq_const %10#1, dense<49999> : tensor<i32>
  check.expect_eq_const %11#1, dense<99999> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<131072xi32>
    %1 = stablehlo.constant dense<50000> : tensor<131072xi32>
    %2 = stablehlo.remainder %0, %1 : tensor<131072xi32>
    %3 = stablehlo.convert %2 : (tensor<131072xi32>) -> tensor<131072xf32>
    %4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.reshape %3 : (tensor<131072xf32>) -> tensor<16x8192xf32>
    %7 = stablehlo.reshape %0 : (tensor<131072xi32>) -> tensor<16x8192xi32>
    %8:2 = stablehlo.reduce(%6 init: %4), (%7 init: %5) across dimensions = [1] : (tensor<16x8192xf32>, tensor<16x8192xi32>, tensor<f32>, tensor<i32>) -> (tensor<16xf32>, tensor<16xi32>)
     reducer(%arg0: tensor<f32>, %arg2: tensor<f32>) (%arg1: tensor<i32>, %arg3: tensor<i32>)  {
      %9 = stablehlo.compare GT, %arg0, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.or %9, %10 : tensor<i1>
      %12 = stablehlo.compare EQ, %arg0, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %13 = stablehlo.compare LT, %arg1, %arg3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %14 = stablehlo.and %12, %13 : tensor<i1>
      %15 = stablehlo.or %11, %14 : tensor<i1>
      %16 = stablehlo.select %11, %arg0, %arg2 : tensor<i1>, tensor<f32>
      %17 = stablehlo.select %15, %arg1, %arg3 : tensor<i1>, tensor<i32>
      stablehlo.return %16, %17 : tensor<f32>, tensor<i32>
    }
    %18:2 = stablehlo.reduce(%8#0 init: %4), (%8#1 init: %5) across dimensions = [0] : (tensor<16xf32>, tensor<16xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %19 = stablehlo.compare GT, %arg4, %arg6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %20 = stablehlo.compare NE, %arg4, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %21 = stablehlo.or %19, %20 : tensor<i1>
      %22 = stablehlo.compare EQ, %arg4, %arg6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %23 = stablehlo.compare LT, %arg5, %arg7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %24 = stablehlo.and %22, %23 : tensor<i1>
      %25 = stablehlo.or %21, %24 : tensor<i1>
      %26 = stablehlo.select %21, %arg4, %arg6 : tensor<i1>, tensor<f32>
      %27 = stablehlo.select %25, %arg5, %arg7 : tensor<i1>, tensor<i32>
      stablehlo.return %26, %27 : tensor<f32>, tensor<i32>
    }
    %28 = stablehlo.reshape %3 : (tensor<131072xf32>) -> tensor<16x8192xf32>
    %29 = stablehlo.reshape %0 : (tensor<131072xi32>) -> tensor<16x8192xi32>
    %30:2 = stablehlo.reduce(%28 init: %4), (%29 init: %5) across dimensions = [1] : (tensor<16x8192xf32>, tensor<16x8192xi32>, tensor<f32>, tensor<i32>) -> (tensor<16xf32>, tensor<16xi32>)
     reducer(%arg8: tensor<f32>, %arg10: tensor<f32>) (%arg9: tensor<i32>, %arg11: tensor<i32>)  {
      %31 = stablehlo.compare GE, %arg8, %arg10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %32 = stablehlo.select %31, %arg8, %arg10 : tensor<i1>, tensor<f32>
      %33 = stablehlo.compare EQ, %arg8, %arg10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %34 = stablehlo.minimum %arg9, %arg11 : tensor<i32>
      %35 = stablehlo.select %31, %arg9, %arg11 : tensor<i1>, tensor<i32>
      %36 = stablehlo.select %33, %34, %35 : tensor<i1>, tensor<i32>
      stablehlo.return %32, %36 : tensor<f32>, tensor<i32>
    }
    %37:2 = stablehlo.reduce(%30#0 init: %4), (%30#1 init: %5) across dimensions = [0] : (tensor<16xf32>, tensor<16xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%arg12: tensor<f32>, %arg14: tensor<f32>) (%arg13: tensor<i32>, %arg15: tensor<i32>)  {
      %38 = stablehlo.compare GE, %arg12, %arg14, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %39 = stablehlo.select %38, %arg12, %arg14 : tensor<i1>, tensor<f32>
      %40 = stablehlo.compare EQ, %arg12, %arg14, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %41 = stablehlo.minimum %arg13, %arg15 : tensor<i32>
      %42 = stablehlo.select %38, %arg13, %arg15 : tensor<i1>, tensor<i32>
      %43 = stablehlo.select %40, %41, %42 : tensor<i1>, tensor<i32>
      stablehlo.return %39, %43 : tensor<f32>, tensor<i32>
    }
    %44:2 = stablehlo.reduce(%3 init: %4), (%0 init: %5) across dimensions = [0] : (tensor<131072xf32>, tensor<131072xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%arg16: tensor<f32>, %arg18: tensor<f32>) (%arg17: tensor<i32>, %arg19: tensor<i32>)  {
      %45 = stablehlo.compare GT, %arg16, %arg18, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %46 = stablehlo.select %45, %arg16, %arg18 : tensor<i1>, tensor<f32>
      %47 = stablehlo.select %45, %arg17, %arg19 : tensor<i1>, tensor<i32>
      stablehlo.return %46, %47 : tensor<f32>, tensor<i32>
    }
    check.expect_eq_const %18#0, dense<4.999900e+04> : tensor<f32>
    check.expect_eq_const %18#1, dense<49999> : tensor<i32>
    check.expect_eq_const %37#1, dense<49999> : tensor<i32>
    check.expect_eq_const %44#1, dense<99999> : tensor<i32>
    return
  }
}
// -----
// The parts of a sum, reduced along the first dimension and the last.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<4096x3x48xi32>
  %z = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<4096x3x48xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<402554887> : tensor<3xi32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.iota dim = 0 : tensor<4096x3x48xi32>
    %1 = stablehlo.constant dense<7> : tensor<i32>
    %2 = stablehlo.reshape %0 : (tensor<4096x3x48xi32>) -> tensor<64x64x3x48xi32>
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1, 3] : (tensor<64x64x3x48xi32>, tensor<i32>) -> tensor<64x3xi32>
    %5 = stablehlo.reduce(%4 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<64x3xi32>, tensor<i32>) -> tensor<3xi32>
    check.expect_eq_const %5, dense<402554887> : tensor<3xi32>
    return
  }
}
// -----
// Long sums of products, also over several dimensions and of narrow types. Short sums, many results and what a kernel for few
// rows divides by itself stay.
func.func @f(%x: tensor<20x3x4096xf32>, %y: tensor<4096x3x40xf32>, %b: tensor<20x16384xbf16>, %c: tensor<16384x20xbf16>, %r: tensor<2x4096xf32>, %s: tensor<4096x512xf32>, %u: tensor<512x2048xf32>, %v: tensor<2048x512xf32>) -> (tensor<20x40xf32>, tensor<20x20xbf16>, tensor<2x512xf32>, tensor<512x512xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1, 2] x [1, 0] : (tensor<20x3x4096xf32>, tensor<4096x3x40xf32>) -> tensor<20x40xf32>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<20x16384xbf16>, tensor<16384x20xbf16>) -> tensor<20x20xbf16>
  %2 = stablehlo.dot_general %r, %s, contracting_dims = [1] x [0] : (tensor<2x4096xf32>, tensor<4096x512xf32>) -> tensor<2x512xf32>
  %3 = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<512x2048xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32>
  return %0, %1, %2, %3 : tensor<20x40xf32>, tensor<20x20xbf16>, tensor<2x512xf32>, tensor<512x512xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<20x3x4096xf32>, %arg1: tensor<4096x3x40xf32>, %arg2: tensor<20x16384xbf16>, %arg3: tensor<16384x20xbf16>, %arg4: tensor<2x4096xf32>, %arg5: tensor<4096x512xf32>, %arg6: tensor<512x2048xf32>, %arg7: tensor<2048x512xf32>) -> (tensor<20x40xf32>, tensor<20x20xbf16>, tensor<2x512xf32>, tensor<512x512xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<20x3x4096xf32>) -> tensor<20x3x16x256xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<4096x3x40xf32>) -> tensor<16x256x3x40xf32>
    %2 = stablehlo.dot_general %0, %1, batching_dims = [2] x [0], contracting_dims = [1, 3] x [2, 1] : (tensor<20x3x16x256xf32>, tensor<16x256x3x40xf32>) -> tensor<16x20x40xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [0] : (tensor<16x20x40xf32>, tensor<f32>) -> tensor<20x40xf32>
    %5 = stablehlo.reshape %arg2 : (tensor<20x16384xbf16>) -> tensor<20x16x1024xbf16>
    %6 = stablehlo.reshape %arg3 : (tensor<16384x20xbf16>) -> tensor<16x1024x20xbf16>
    %7 = stablehlo.dot_general %5, %6, batching_dims = [1] x [0], contracting_dims = [2] x [1] : (tensor<20x16x1024xbf16>, tensor<16x1024x20xbf16>) -> tensor<16x20x20xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [0] : (tensor<16x20x20xf32>, tensor<f32>) -> tensor<20x20xf32>
    %10 = stablehlo.convert %9 : (tensor<20x20xf32>) -> tensor<20x20xbf16>
    %11 = stablehlo.dot_general %arg4, %arg5, contracting_dims = [1] x [0] : (tensor<2x4096xf32>, tensor<4096x512xf32>) -> tensor<2x512xf32>
    %12 = stablehlo.dot_general %arg6, %arg7, contracting_dims = [1] x [0] : (tensor<512x2048xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32>
    return %4, %10, %11, %12 : tensor<20x40xf32>, tensor<20x20xbf16>, tensor<2x512xf32>, tensor<512x512xf32>
  }
}
