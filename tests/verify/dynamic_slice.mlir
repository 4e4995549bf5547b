func.func @dynamic_slice(%a: tensor<4x?xf32>, %i: tensor<i64>) -> tensor<2x3xf32> {
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 3] : (tensor<4x?xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @real_dynamic_slice(%a: tensor<8xf32>, %n: tensor<1xi64>) -> tensor<?xf32> {
  %s = stablehlo.constant dense<1> : tensor<1xi64>
  %l = stablehlo.constant dense<8> : tensor<1xi64>
  %t = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %t : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>
  %1 = stablehlo.real_dynamic_slice %a, %n, %l, %t : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// -----

func.func @dynamic_slice(%a: tensor<4x5xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<4x5xf32> {
  // expected-error@+1 {{[dynamic_slice_c1]}}
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 3] : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
  // expected-error@+1 {{[dynamic_slice_c2] 'stablehlo.dynamic_slice' op needs one start index for each of 2 dimensions, but has 1}}
  %1 = stablehlo.dynamic_slice %a, %i, sizes = [2, 3] : (tensor<4x5xf32>, tensor<i64>) -> tensor<2x3xf32>
  // expected-error@+1 {{[dynamic_slice_c2] 'stablehlo.dynamic_slice' op slice_sizes must have 2 elements, but has 1}}
  %2 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2] : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<2x5xf32>
  // expected-error@+1 {{[dynamic_slice_c3] 'stablehlo.dynamic_slice' op start indices must have one type}}
  %3 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3] : (tensor<4x5xf32>, tensor<i64>, tensor<i32>) -> tensor<2x3xf32>
  // expected-error@+1 {{[dynamic_slice_c4] 'stablehlo.dynamic_slice' op slice size 6 does not fit dimension 1 of size 5}}
  %4 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 6] : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<2x6xf32>
  // expected-error@+1 {{[dynamic_slice_c4]}}
  %5 = stablehlo.dynamic_slice %a, %i, %i, sizes = [-1, 3] : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  // expected-error@+1 {{[dynamic_slice_c5]}}
  %6 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 3] : (tensor<4x5xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
  func.return %a : tensor<4x5xf32>
}

func.func @real_dynamic_slice(%a: tensor<8xf32>, %n: tensor<1xi64>, %m: tensor<2xi64>, %k: tensor<1xi32>) -> tensor<8xf32> {
  // expected-error@+1 {{start_indices and limit_indices must have one type, but have tensor<1xi64> and tensor<1xi32>}}
  %0 = stablehlo.real_dynamic_slice %a, %n, %k, %n : (tensor<8xf32>, tensor<1xi64>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
  // expected-error@+1 {{start_indices must have 1 elements, but has 2}}
  %1 = stablehlo.real_dynamic_slice %a, %m, %m, %m : (tensor<8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  // expected-error@+1 {{operand and result must have one element type}}
  %2 = stablehlo.real_dynamic_slice %a, %n, %n, %n : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
  %s = stablehlo.constant dense<1> : tensor<1xi64>
  %l = stablehlo.constant dense<8> : tensor<1xi64>
  // expected-error@+1 {{result 0 has the inferred type tensor<7xf32>}}
  %3 = stablehlo.real_dynamic_slice %a, %s, %l, %s : (tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}
