// Rows: what is large is computed a part at a time. Results with rows are stored, sums over rows accumulated.
func.func @f(%x: tensor<1024x64xf32>, %w: tensor<64x512xf32>) -> (tensor<1024xf32>, tensor<512x64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
  %1 = stablehlo.exponential %0 : tensor<1024x512xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  %3 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<1024x512xf32>, tensor<1024x64xf32>) -> tensor<512x64xf32>
  return %2, %3 : tensor<1024xf32>, tensor<512x64xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1024x64xf32>, %arg1: tensor<64x512xf32>) -> (tensor<1024xf32>, tensor<512x64xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<1024xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<512x64xf32>
    %4:3 = stablehlo.while(%arg2 = %1, %arg3 = %2, %arg4 = %3) : tensor<i32>, tensor<1024xf32>, tensor<512x64xf32>
    cond {
      %5 = stablehlo.constant dense<2> : tensor<i32>
      %6 = stablehlo.compare LT, %arg2, %5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7 = stablehlo.constant dense<512> : tensor<i32>
      %8 = stablehlo.multiply %arg2, %7 : tensor<i32>
      %9 = stablehlo.constant dense<0> : tensor<i32>
      %10 = stablehlo.dynamic_slice %arg0, %8, %9, sizes = [512, 64] : (tensor<1024x64xf32>, tensor<i32>, tensor<i32>) -> tensor<512x64xf32>
      %11 = stablehlo.dot_general %10, %arg1, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
      %12 = stablehlo.exponential %11 : tensor<512x512xf32>
      %13 = stablehlo.reduce(%12 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
      %14 = stablehlo.dot_general %12, %10, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
      %15 = stablehlo.constant dense<1> : tensor<i32>
      %16 = stablehlo.add %arg2, %15 : tensor<i32>
      %17 = stablehlo.constant dense<0> : tensor<i32>
      %18 = stablehlo.dynamic_update_slice %arg3, %13, %8 : (tensor<1024xf32>, tensor<512xf32>, tensor<i32>) -> tensor<1024xf32>
      %19 = stablehlo.add %arg4, %14 : tensor<512x64xf32>
      stablehlo.return %16, %18, %19 : tensor<i32>, tensor<1024xf32>, tensor<512x64xf32>
    }
    return %4#1, %4#2 : tensor<1024xf32>, tensor<512x64xf32>
  }
}
// -----
// What depends on results of the loop comes after it, and large values that are needed there are computed again, from statistics
// that were stored. Numbers of rows begin with those of the part, and masks are no results.
func.func @f(%x: tensor<1024x64xf32>, %w: tensor<64x512xf32>, %u: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<512xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.constant dense<-1.0> : tensor<1024x512xf32>
  %i = stablehlo.iota dim = 0 : tensor<1024x512xf32>
  %j = stablehlo.iota dim = 1 : tensor<1024x512xf32>
  %c = stablehlo.compare LE, %j, %i : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<1024x512xi1>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x512xf32>) -> tensor<1024x512xf32>
  %1 = stablehlo.select %c, %0, %l : tensor<1024x512xi1>, tensor<1024x512xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1024xf32>) -> tensor<1024x512xf32>
  %4 = stablehlo.subtract %1, %3 : tensor<1024x512xf32>
  %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<512xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<512xf32>) -> tensor<1024x512xf32>
  %7 = stablehlo.multiply %4, %6 : tensor<1024x512xf32>
  %8 = stablehlo.reduce(%7 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  %9 = stablehlo.multiply %8, %u : tensor<1024xf32>
  return %9, %5 : tensor<1024xf32>, tensor<512xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1024x64xf32>, %arg1: tensor<64x512xf32>, %arg2: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<512xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<1024xf32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<512xf32>
    %4:3 = stablehlo.while(%arg3 = %1, %arg4 = %2, %arg5 = %3) : tensor<i32>, tensor<1024xf32>, tensor<512xf32>
    cond {
      %5 = stablehlo.constant dense<2> : tensor<i32>
      %6 = stablehlo.compare LT, %arg3, %5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7 = stablehlo.constant dense<512> : tensor<i32>
      %8 = stablehlo.multiply %arg3, %7 : tensor<i32>
      %9 = stablehlo.constant dense<-1.000000e+00> : tensor<512x512xf32>
      %10 = stablehlo.iota dim = 0 : tensor<512x512xi32>
      %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i32>) -> tensor<512x512xi32>
      %12 = stablehlo.add %10, %11 : tensor<512x512xi32>
      %13 = stablehlo.convert %12 : (tensor<512x512xi32>) -> tensor<512x512xf32>
      %14 = stablehlo.iota dim = 1 : tensor<512x512xf32>
      %15 = stablehlo.compare LE, %14, %13 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
      %16 = stablehlo.constant dense<0> : tensor<i32>
      %17 = stablehlo.dynamic_slice %arg0, %8, %16, sizes = [512, 64] : (tensor<1024x64xf32>, tensor<i32>, tensor<i32>) -> tensor<512x64xf32>
      %18 = stablehlo.dot_general %17, %arg1, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
      %19 = stablehlo.select %15, %18, %9 : tensor<512x512xi1>, tensor<512x512xf32>
      %20 = stablehlo.reduce(%19 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
      %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
      %22 = stablehlo.subtract %19, %21 : tensor<512x512xf32>
      %23 = stablehlo.reduce(%22 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
      %24 = stablehlo.constant dense<1> : tensor<i32>
      %25 = stablehlo.add %arg3, %24 : tensor<i32>
      %26 = stablehlo.constant dense<0> : tensor<i32>
      %27 = stablehlo.dynamic_update_slice %arg4, %20, %8 : (tensor<1024xf32>, tensor<512xf32>, tensor<i32>) -> tensor<1024xf32>
      %28 = stablehlo.add %arg5, %23 : tensor<512xf32>
      stablehlo.return %25, %27, %28 : tensor<i32>, tensor<1024xf32>, tensor<512xf32>
    }
    %29 = stablehlo.constant dense<0> : tensor<i32>
    %30 = stablehlo.constant dense<0.000000e+00> : tensor<1024xf32>
    %31:2 = stablehlo.while(%arg6 = %29, %arg7 = %30) : tensor<i32>, tensor<1024xf32>
    cond {
      %32 = stablehlo.constant dense<2> : tensor<i32>
      %33 = stablehlo.compare LT, %arg6, %32 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %33 : tensor<i1>
    } do {
      %34 = stablehlo.constant dense<512> : tensor<i32>
      %35 = stablehlo.multiply %arg6, %34 : tensor<i32>
      %36 = stablehlo.constant dense<-1.000000e+00> : tensor<512x512xf32>
      %37 = stablehlo.iota dim = 0 : tensor<512x512xi32>
      %38 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<i32>) -> tensor<512x512xi32>
      %39 = stablehlo.add %37, %38 : tensor<512x512xi32>
      %40 = stablehlo.convert %39 : (tensor<512x512xi32>) -> tensor<512x512xf32>
      %41 = stablehlo.iota dim = 1 : tensor<512x512xf32>
      %42 = stablehlo.compare LE, %41, %40 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
      %43 = stablehlo.constant dense<0> : tensor<i32>
      %44 = stablehlo.dynamic_slice %arg0, %35, %43, sizes = [512, 64] : (tensor<1024x64xf32>, tensor<i32>, tensor<i32>) -> tensor<512x64xf32>
      %45 = stablehlo.dot_general %44, %arg1, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
      %46 = stablehlo.select %42, %45, %36 : tensor<512x512xi1>, tensor<512x512xf32>
      %47 = stablehlo.constant dense<0> : tensor<i32>
      %48 = stablehlo.dynamic_slice %4#1, %35, sizes = [512] : (tensor<1024xf32>, tensor<i32>) -> tensor<512xf32>
      %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
      %50 = stablehlo.subtract %46, %49 : tensor<512x512xf32>
      %51 = stablehlo.broadcast_in_dim %4#2, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
      %52 = stablehlo.multiply %50, %51 : tensor<512x512xf32>
      %53 = stablehlo.reduce(%52 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
      %54 = stablehlo.constant dense<1> : tensor<i32>
      %55 = stablehlo.add %arg6, %54 : tensor<i32>
      %56 = stablehlo.constant dense<0> : tensor<i32>
      %57 = stablehlo.dynamic_update_slice %arg7, %53, %35 : (tensor<1024xf32>, tensor<512xf32>, tensor<i32>) -> tensor<1024xf32>
      stablehlo.return %55, %57 : tensor<i32>, tensor<1024xf32>
    }
    %58 = stablehlo.multiply %31#1, %arg2 : tensor<1024xf32>
    return %58, %4#2 : tensor<1024xf32>, tensor<512xf32>
  }
}
// -----
// Sums of narrow products are accumulated in f32.
func.func @f(%x: tensor<1024x1024xbf16>) -> (tensor<1024x8xbf16>, tensor<1024xbf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %w = stablehlo.slice %x [0:1024, 0:8] : (tensor<1024x1024xbf16>) -> tensor<1024x8xbf16>
  %0 = stablehlo.tanh %x : tensor<1024x1024xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [0] x [0] : (tensor<1024x1024xbf16>, tensor<1024x8xbf16>) -> tensor<1024x8xbf16>
  %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
  return %1, %2 : tensor<1024x8xbf16>, tensor<1024xbf16>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1024x1024xbf16>) -> (tensor<1024x8xbf16>, tensor<1024xbf16>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %1 = stablehlo.slice %arg0 [0:1024, 0:8] : (tensor<1024x1024xbf16>) -> tensor<1024x8xbf16>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<1024x8xf32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<1024xbf16>
    %5:3 = stablehlo.while(%arg1 = %2, %arg2 = %3, %arg3 = %4) : tensor<i32>, tensor<1024x8xf32>, tensor<1024xbf16>
    cond {
      %6 = stablehlo.constant dense<2> : tensor<i32>
      %7 = stablehlo.compare LT, %arg1, %6 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %8 = stablehlo.constant dense<512> : tensor<i32>
      %9 = stablehlo.multiply %arg1, %8 : tensor<i32>
      %10 = stablehlo.constant dense<0> : tensor<i32>
      %11 = stablehlo.dynamic_slice %arg0, %9, %10, sizes = [512, 1024] : (tensor<1024x1024xbf16>, tensor<i32>, tensor<i32>) -> tensor<512x1024xbf16>
      %12 = stablehlo.tanh %11 : tensor<512x1024xbf16>
      %13 = stablehlo.constant dense<0> : tensor<i32>
      %14 = stablehlo.dynamic_slice %1, %9, %13, sizes = [512, 8] : (tensor<1024x8xbf16>, tensor<i32>, tensor<i32>) -> tensor<512x8xbf16>
      %15 = stablehlo.dot_general %12, %14, contracting_dims = [0] x [0] : (tensor<512x1024xbf16>, tensor<512x8xbf16>) -> tensor<1024x8xf32>
      %16 = stablehlo.reduce(%12 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xbf16>, tensor<bf16>) -> tensor<512xbf16>
      %17 = stablehlo.constant dense<1> : tensor<i32>
      %18 = stablehlo.add %arg1, %17 : tensor<i32>
      %19 = stablehlo.add %arg2, %15 : tensor<1024x8xf32>
      %20 = stablehlo.constant dense<0> : tensor<i32>
      %21 = stablehlo.dynamic_update_slice %arg3, %16, %9 : (tensor<1024xbf16>, tensor<512xbf16>, tensor<i32>) -> tensor<1024xbf16>
      stablehlo.return %18, %19, %21 : tensor<i32>, tensor<1024x8xf32>, tensor<1024xbf16>
    }
    %22 = stablehlo.convert %5#1 : (tensor<1024x8xf32>) -> tensor<1024x8xbf16>
    return %22, %5#2 : tensor<1024x8xbf16>, tensor<1024xbf16>
  }
}
// -----
// Not what is needed whole: sorted, or multiplied by itself along both dimensions.
func.func @f(%x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.tanh %x : tensor<1024x1024xf32>
  %1 = "stablehlo.sort"(%0) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.cosine %x : tensor<1024x1024xf32>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %4 = stablehlo.slice %3 [0:8, 0:8] : (tensor<1024x1024xf32>) -> tensor<8x8xf32>
  return %1, %4 : tensor<1024x1024xf32>, tensor<8x8xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<8x8xf32>) {
    %0 = stablehlo.tanh %arg0 : tensor<1024x1024xf32>
    %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %3 = stablehlo.cosine %arg0 : tensor<1024x1024xf32>
    %4 = stablehlo.dot_general %3, %3, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %5 = stablehlo.slice %4 [0:8, 0:8] : (tensor<1024x1024xf32>) -> tensor<8x8xf32>
    return %1, %5 : tensor<1024x1024xf32>, tensor<8x8xf32>
  }
}
