// Ascending along the last dimension, descending along the first.
func.func @directions() {
  %x = stablehlo.constant dense<[[3, 1, 2], [9, 8, 7]]> : tensor<2x3xi32>
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [7, 8, 9]]> : tensor<2x3xi32>
  %1 = "stablehlo.sort"(%x) <{dimension = -2 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %1, dense<[[9, 8, 7], [3, 1, 2]]> : tensor<2x3xi32>
  return
}

// -----

// Keys take their values with them; equal keys keep their order.
func.func @stable_pairs() {
  %k = stablehlo.constant dense<[2, 1, 2, 1, 2]> : tensor<5xui8>
  %v = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0]> : tensor<5xf64>
  %0:2 = "stablehlo.sort"(%k, %v) <{is_stable = true}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>, %c: tensor<f64>, %d: tensor<f64>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5xui8>, tensor<5xf64>) -> (tensor<5xui8>, tensor<5xf64>)
  check.expect_eq_const %0#0, dense<[1, 1, 2, 2, 2]> : tensor<5xui8>
  check.expect_eq_const %0#1, dense<[1.0, 3.0, 0.0, 2.0, 4.0]> : tensor<5xf64>
  return
}

// -----

// The total order puts -NaN first and NaN last, and -0 before 0.
func.func @total_order() {
  %x = stablehlo.constant dense<[0x7FC00000, 0.0, -0.0, 0xFFC00000, 0xFF800000, 1.0]> : tensor<6xf32>
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %bits = stablehlo.bitcast_convert %0 : (tensor<6xf32>) -> tensor<6xui32>
  check.expect_eq_const %bits, dense<[4290772992, 4286578688, 2147483648, 0, 1065353216, 2143289344]> : tensor<6xui32>
  return
}

// -----

func.func @empty() {
  %x = stablehlo.constant dense<> : tensor<3x0xf32>
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x0xf32>) -> tensor<3x0xf32>
  check.expect_eq_const %0, dense<> : tensor<3x0xf32>
  return
}
