func.func @reduces(%a: tensor<4x3xf32>, %b: tensor<?xf16>, %c: tensor<4xbf16>, %d: tensor<1xi32>) {
  %0 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1:2 = "stablehlo.collective_reduce"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4x3xf32>, tensor<?xf16>) -> (tensor<4x3xf32>, tensor<?xf32>)
  %2 = "stablehlo.collective_reduce"(%c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xbf16>) -> tensor<4xf32>
  %3 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "y">]>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = "stablehlo.collective_reduce"(%a, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x3xf32>, tensor<1xi32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4x3xf32>, %b: tensor<0xi32>, %c: tensor<1xi64>, %d: tensor<2xi32>, %e: tensor<1xi32>) {
  // expected-error@+1 {{[collective_reduce_c1] 'stablehlo.collective_reduce' op replica_groups must not have duplicates, but has 0 twice}}
  %0 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[collective_reduce_c2] 'stablehlo.collective_reduce' op replica_groups must be in [0, 2), but has 2}}
  %1 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{'stablehlo.collective_reduce' op the channel must be positive with use_global_device_ids, but is 0}}
  %2 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op needs at least one operand}}
  "stablehlo.collective_reduce"() ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : () -> ()
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op needs at least one operand besides the root}}
  "stablehlo.collective_reduce"(%b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<0xi32>) -> ()
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op the root must have type tensor<1xi32>, but has tensor<1xi64>}}
  %3 = "stablehlo.collective_reduce"(%a, %c) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<4x3xf32>
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op the root must have type tensor<1xi32>, but has tensor<2xi32>}}
  %4 = "stablehlo.collective_reduce"(%a, %d) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op result 0 has the inferred type tensor<4x3xf32>}}
  %5 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x2xf32>
  // expected-error@+1 {{[collective_reduce_c3] 'stablehlo.collective_reduce' op infers 1 results, but has 2}}
  %6:2 = "stablehlo.collective_reduce"(%a, %e) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x3xf32>, tensor<1xi32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  // expected-error@+1 {{[collective_reduce_c4] 'stablehlo.collective_reduce' op the reduction must take 2 values, but takes 3}}
  %7 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-error@+1 {{[collective_reduce_c4] 'stablehlo.collective_reduce' op result 0 must have elements of type f32}}
  %8 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x3xf64>
  func.return
}
