// Variables that do not change are taken out; functions of them, products and what these need are computed once, in front.
func.func @f(%w: tensor<64x64xf32>, %b: tensor<64xf32>, %x: tensor<8x64xf32>, %n: tensor<i32>) -> tensor<8x64xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:5 = stablehlo.while(%i = %z, %m = %n, %u = %w, %c = %b, %y = %x) : tensor<i32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<8x64xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.transpose %u, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %3 = stablehlo.exponential %c : tensor<64xf32>
      %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
      %5 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
      %6 = stablehlo.multiply %2, %5 : tensor<64x64xf32>
      %7 = stablehlo.dot_general %y, %6, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      %8 = stablehlo.add %7, %4 : tensor<8x64xf32>
      stablehlo.return %1, %m, %u, %c, %8 : tensor<i32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<8x64xf32>
    }
  return %0#4 : tensor<8x64xf32>
}
// ----- expected
module {
  func.func @f(%arg0: tensor<64x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<8x64xf32>, %arg3: tensor<i32>) -> tensor<8x64xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = stablehlo.exponential %arg1 : tensor<64xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
    %4 = stablehlo.multiply %1, %3 : tensor<64x64xf32>
    %5:5 = stablehlo.while(%arg4 = %0, %arg5 = %arg3, %arg6 = %arg0, %arg7 = %arg1, %arg8 = %arg2) : tensor<i32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<8x64xf32>
    cond {
      %6 = stablehlo.compare LT, %arg4, %arg3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %arg4, %7 : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
      %10 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
      %11 = stablehlo.dot_general %arg8, %4, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      %12 = stablehlo.add %11, %9 : tensor<8x64xf32>
      stablehlo.return %8, %arg3, %arg0, %arg1, %12 : tensor<i32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<8x64xf32>
    }
    return %5#4 : tensor<8x64xf32>
  }
}
// -----
// Out of both loops; what depends on the outer one's variable, out of the inner one.
func.func @main() {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %k = stablehlo.optimization_barrier %three : tensor<i32>
  %v = stablehlo.iota dim = 0 : tensor<5xi32>
  %0:2 = stablehlo.while(%i = %z, %s = %z) : tensor<i32>, tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2:2 = stablehlo.while(%j = %z, %t = %s) : tensor<i32>, tensor<i32>
        cond {
          %3 = stablehlo.compare LT, %j, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %3 : tensor<i1>
        } do {
          %3 = stablehlo.add %j, %one : tensor<i32>
          %4 = stablehlo.reduce(%v init: %k) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
          %5 = stablehlo.multiply %4, %i : tensor<i32>
          %6 = stablehlo.add %t, %5 : tensor<i32>
          stablehlo.return %3, %6 : tensor<i32>, tensor<i32>
        }
      stablehlo.return %1, %2#1 : tensor<i32>, tensor<i32>
    }
  check.expect_eq_const %0#1, dense<117> : tensor<i32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<3> : tensor<i32>
    %3 = stablehlo.optimization_barrier %2 : tensor<i32>
    %4 = stablehlo.iota dim = 0 : tensor<5xi32>
    %5 = stablehlo.reduce(%4 init: %3) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
    %6:2 = stablehlo.while(%arg0 = %0, %arg1 = %0) : tensor<i32>, tensor<i32>
    cond {
      %7 = stablehlo.compare LT, %arg0, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %8 = stablehlo.add %arg0, %1 : tensor<i32>
      %9 = stablehlo.multiply %5, %arg0 : tensor<i32>
      %10:2 = stablehlo.while(%arg2 = %0, %arg3 = %arg1) : tensor<i32>, tensor<i32>
      cond {
        %11 = stablehlo.compare LT, %arg2, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      } do {
        %12 = stablehlo.add %arg2, %1 : tensor<i32>
        %13 = stablehlo.add %arg3, %9 : tensor<i32>
        stablehlo.return %12, %13 : tensor<i32>, tensor<i32>
      }
      stablehlo.return %8, %10#1 : tensor<i32>, tensor<i32>
    }
    check.expect_eq_const %6#1, dense<117> : tensor<i32>
    return
  }
}
// -----
// What depends on a variable stays.
func.func @main() {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sqrt %y : tensor<2xf32>
      %3 = stablehlo.multiply %2, %y : tensor<2xf32>
      %4 = stablehlo.subtract %3, %2 : tensor<2xf32>
      stablehlo.return %1, %4 : tensor<i32>, tensor<2xf32>
    }
  check.expect_almost_eq_const %0#1, dense<[0.0, 0.492586]> : tensor<2xf32>
  return
}
// ----- expected
module {
  func.func @main() {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %2:2 = stablehlo.while(%arg0 = %0, %arg1 = %1) : tensor<i32>, tensor<2xf32>
    cond {
      %3 = stablehlo.constant dense<2> : tensor<i32>
      %4 = stablehlo.compare LT, %arg0, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %5 = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %arg0, %5 : tensor<i32>
      %7 = stablehlo.sqrt %arg1 : tensor<2xf32>
      %8 = stablehlo.multiply %7, %arg1 : tensor<2xf32>
      %9 = stablehlo.subtract %8, %7 : tensor<2xf32>
      stablehlo.return %6, %9 : tensor<i32>, tensor<2xf32>
    }
    check.expect_almost_eq_const %2#1, dense<[0.000000e+00, 4.925860e-01]> : tensor<2xf32>
    return
  }
}
