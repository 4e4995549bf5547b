func.func @permutes(%a: tensor<4xf32>) {
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [1, 0], [3, 2]]> : tensor<3x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4xf32>) {
  // expected-error@+1 {{[collective_permute_c1] 'stablehlo.collective_permute' op source_target_pairs must have the shape [N, 2], but has [1, 3]}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_permute_c2] 'stablehlo.collective_permute' op sources of source_target_pairs must not have duplicates, but has 0 twice}}
  %1 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_permute_c3] 'stablehlo.collective_permute' op targets of source_target_pairs must not have duplicates, but has 1 twice}}
  %2 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_permute_c4] 'stablehlo.collective_permute' op source_target_pairs must not be negative, but have -1}}
  %3 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_permute_c5] 'stablehlo.collective_permute' op result 0 has the inferred type tensor<4xf32>}}
  %4 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  // expected-error@+1 {{'stablehlo.cross-replica-sum' op result 0 has the inferred type tensor<4xf32>}}
  %5 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  func.return
}
