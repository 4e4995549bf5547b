func.func private @mesh()

func.func @gathers(%a: tensor<4x3xf32>, %b: tensor<?x2xi8>, %c: tensor<4x?xf32>) {
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %1:2 = "stablehlo.all_gather"(%a, %b) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4x3xf32>, tensor<?x2xi8>) -> (tensor<4x6xf32>, tensor<?x4xi8>)
  %2 = "stablehlo.all_gather"(%c) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %3 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %4 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @refused(%a: tensor<4x3xf32>, %b: tensor<4x0xf32>) {
  // expected-error@+1 {{[all_gather_c1] 'stablehlo.all_gather' op all_gather_dim must be in [0, 2), but has 2}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c1] 'stablehlo.all_gather' op attribute 'all_gather_dim' must be non-negative, but is -1}}
  %1 = "stablehlo.all_gather"(%a) {all_gather_dim = -1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c2] 'stablehlo.all_gather' op replica_groups must not have duplicates, but has 1 twice}}
  %2 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c4] 'stablehlo.all_gather' op replica_groups must all have one size, but one has -1}}
  %3 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c4] 'stablehlo.all_gather' op replica_groups must be in [0, 2), but has 2}}
  %4 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c5] 'stablehlo.all_gather' op the channel must be positive with use_global_device_ids, but is 0}}
  %5 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c5] 'stablehlo.all_gather' op the channel must be positive with use_global_device_ids, but is -1}}
  %6 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -1, type = 0>, use_global_device_ids} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c5] 'stablehlo.all_gather' op replica_groups must not be empty with use_global_device_ids}}
  %7 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<> : tensor<0x0xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // expected-error@+1 {{[all_gather_c6] 'stablehlo.all_gather' op operand and result 0 must have one rank, but have 2 and 3}}
  %8 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6x1xf32>
  // expected-error@+1 {{[all_gather_c6] 'stablehlo.all_gather' op operand and result 0 may differ in dimension 1 only, but have types tensor<4x3xf32> and tensor<5x6xf32>}}
  %9 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<5x6xf32>
  // expected-error@+1 {{[all_gather_c6] 'stablehlo.all_gather' op dimension 1 of result 0 must be a multiple of 3, but has size 7}}
  %10 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x7xf32>
  // expected-error@+1 {{[all_gather_c6] 'stablehlo.all_gather' op result 0 must have elements of type f32}}
  %11 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> tensor<4x6xf64>
  // expected-error@+1 {{[all_gather_c6] 'stablehlo.all_gather' op infers 1 results, but has 2}}
  %12:2 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x3xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  // expected-error@+1 {{'stablehlo.all_gather' op operand 0 must not be empty along all_gather_dim}}
  %13 = "stablehlo.all_gather"(%b) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x0xf32>) -> tensor<4x0xf32>
  func.return
}

// -----

func.func @mesh(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op there is no mesh 'missing'}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @mesh(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{the mesh has no axis of that name}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = [#stablehlo.axis_ref<name = "z">]>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @mesh(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{mesh must be a mesh or the name of one}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = "x", axes = []>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @mesh(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{axes must be references to axes of the mesh}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, axes = ["x"]>} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  func.return
}
