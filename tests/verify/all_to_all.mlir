func.func @exchanges(%a: tensor<3x4xf32>, %b: tensor<?x4xf32>, %c: tensor<?x?xf32, #stablehlo.bounds<3, 4>>) {
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  %1:2 = "stablehlo.all_to_all"(%b, %a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<?x4xf32>, tensor<3x4xf32>) -> (tensor<?x2xf32>, tensor<6x2xf32>)
  %2 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = "stablehlo.all_to_all"(%c) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<?x?xf32, #stablehlo.bounds<3, 4>>) -> tensor<?x?xf32, #stablehlo.bounds<6, 2>>
  func.return
}

// -----

func.func @refused(%a: tensor<3x4xf32>, %b: tensor<3x5xf32>, %c: tensor<9223372036854775807x4xf32>) {
  // expected-error@+1 {{[all_to_all_c1] 'stablehlo.all_to_all' op split_dimension must be in [0, 2), but has 2}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c1]}}
  %1 = "stablehlo.all_to_all"(%a) {split_dimension = -1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c2] 'stablehlo.all_to_all' op split_dimension of size 5 must be a multiple of split_count, 2}}
  %2 = "stablehlo.all_to_all"(%b) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x5xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c3] 'stablehlo.all_to_all' op concat_dimension must be in [0, 2), but has 2}}
  %3 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c3]}}
  %4 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c4] 'stablehlo.all_to_all' op attribute 'split_count' must be positive, but is 0}}
  %5 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c5] 'stablehlo.all_to_all' op replica_groups must not have duplicates, but has 0 twice}}
  %6 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c7] 'stablehlo.all_to_all' op replica_groups must be in [0, 2), but has 3}}
  %7 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 3]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c8] 'stablehlo.all_to_all' op replica_groups must have split_count, 2, replicas each, but are 1 groups of 3}}
  %8 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c8]}}
  %9 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<> : tensor<0x2xi64>} : (tensor<3x4xf32>) -> tensor<6x2xf32>
  // expected-error@+1 {{[all_to_all_c9] 'stablehlo.all_to_all' op result 0 has the inferred type tensor<6x2xf32>}}
  %10 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> tensor<6x4xf32>
  // expected-error@+1 {{[all_to_all_c9] 'stablehlo.all_to_all' op concat_dimension becomes too large}}
  %11 = "stablehlo.all_to_all"(%c) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<9223372036854775807x4xf32>) -> tensor<?x2xf32>
  // expected-error@+1 {{[all_to_all_c9] 'stablehlo.all_to_all' op infers 1 results, but has 2}}
  %12:2 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>)
  func.return
}
