func.func @broadcasts(%a: tensor<4xf32>, %b: tensor<?xi8>, %c: tensor<f32>, %d: tensor<2xi32>) {
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[5, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = "stablehlo.collective_broadcast"(%a, %b) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<?xi8>) -> (tensor<4xf32>, tensor<?xi8>)
  %2:2 = "stablehlo.collective_broadcast"(%a, %c, %d) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4xf32>, tensor<f32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<f32>)
  %3 = "stablehlo.collective_broadcast"(%a) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4xf32>, %b: tensor<0xi32>, %c: tensor<2xi32>, %d: tensor<1xi32>) {
  // expected-error@+1 {{[collective_broadcast_c1] 'stablehlo.collective_broadcast' op replica_groups must not have duplicates, but has 0 twice}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_broadcast_c2] 'stablehlo.collective_broadcast' op replica_groups must not be negative, but have -1}}
  %1 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_broadcast_c3] 'stablehlo.collective_broadcast' op needs at least one operand}}
  "stablehlo.collective_broadcast"() {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : () -> ()
  // expected-error@+1 {{[collective_broadcast_c3] 'stablehlo.collective_broadcast' op result 0 has the inferred type tensor<4xf32>}}
  %2 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  // expected-error@+1 {{[collective_broadcast_c4] 'stablehlo.collective_broadcast' op needs at least one operand besides the root}}
  "stablehlo.collective_broadcast"(%b) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<0xi32>) -> ()
  // expected-error@+1 {{[collective_broadcast_c4] 'stablehlo.collective_broadcast' op the root must have type tensor<1xi32>, but has tensor<2xi32>}}
  %3 = "stablehlo.collective_broadcast"(%a, %c) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  // expected-error@+1 {{[collective_broadcast_c4]}}
  %4 = "stablehlo.collective_broadcast"(%a, %d) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4xf32>, tensor<1xi32>) -> tensor<5xf32>
  // expected-error@+1 {{[collective_broadcast_c5] 'stablehlo.collective_broadcast' op infers 1 results, but has 2}}
  %5:2 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // expected-error@+1 {{[collective_broadcast_c5] 'stablehlo.collective_broadcast' op infers 1 results, but has 2}}
  %6:2 = "stablehlo.collective_broadcast"(%a, %d) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4xf32>, tensor<1xi32>) -> (tensor<4xf32>, tensor<1xi32>)
  func.return
}
