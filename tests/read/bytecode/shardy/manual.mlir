module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
  sdy.mesh @wide = <["z"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<2x4xf32>) -> (tensor<2x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x", "y"} (%arg2: tensor<2x2xf32>) {
      %1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %2 = "stablehlo.all_reduce"(%arg2) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %3 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %4 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
      %5 = stablehlo.multiply %2, %4 : tensor<2x2xf32>
      sdy.return %5 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.add %0, %arg1 : tensor<2x4xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{}, {"x", "y"}]> : tensor<2x4xf32>
    %8 = sdy.sharding_constraint %7 <@wide, [{?}, {"z":(1)2, ?}p1], replicated={"z":(2)4}> : tensor<2x4xf32>
    return %8 : tensor<2x4xf32>
  }
}
