// What main takes and gives are shares; a manual computation is put in place; its result is gathered for what is outside.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}p1]>}, %b: tensor<8x6xf32>) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}], replicated={"x"}>}, tensor<8x6xf32>, tensor<8x6xf32>) {
    %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%c: tensor<4x3xf32>, %d: tensor<4x3xf32>) {
      %1 = stablehlo.add %c, %d : tensor<4x3xf32>
      sdy.return %1 : tensor<4x3xf32>
    } : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.negate %0 : tensor<8x6xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"x", "y"}, {}]> : tensor<8x6xf32>
    return %2, %0, %3 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,2]0,1,2,3}", "{devices=[2,2]0,1,2,3}"], mhlo.spmd_output_sharding = "{{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}, {devices=[2,2]0,1,2,3}, {devices=[4,1]0,1,2,3}}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>) -> (tensor<4x6xf32>, tensor<4x3xf32>, tensor<2x6xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4x3xf32>
    %1 = stablehlo.negate %0 : tensor<4x3xf32>
    %2 = "stablehlo.all_to_all"(%1) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
    %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 0], [2, 1], [1, 2], [3, 3]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    return %4, %0, %2 : tensor<4x6xf32>, tensor<4x3xf32>, tensor<2x6xf32>
  }
}
// -----
// A mesh whose devices are in another order; a manual computation over one axis inside of one over the other, in a loop.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<8xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>] manual_axes={"x"} (%u: tensor<4xf32>) {
        %3 = sdy.manual_computation(%u) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%w: tensor<2xf32>) {
          %4 = stablehlo.sine %w : tensor<2xf32>
          sdy.return %4 : tensor<2xf32>
        } : (tensor<4xf32>) -> tensor<4xf32>
        sdy.return %3 : tensor<4xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
    }
    return %0#1 : tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[4]3,1,2,0}", "{replicated}"], mhlo.spmd_output_sharding = "{devices=[4]3,1,2,0}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
  func.func @f(%arg0: tensor<2xf32>, %arg1: tensor<i32>) -> tensor<2xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%arg2 = %0, %arg3 = %arg0) : tensor<i32>, tensor<2xf32>
    cond {
      %2 = stablehlo.compare LT, %arg2, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %arg2, %3 : tensor<i32>
      %5 = stablehlo.sine %arg3 : tensor<2xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<2xf32>
    }
    return %1#1 : tensor<2xf32>
  }
}
// -----
// Donated parameters go to results of their type: named ones where they still have it, others where there is one. What is not
// sharded is computed replicated.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %c: tensor<8xf32> {jax.buffer_donor = true}, %d: tensor<8xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %b, %z, low = [2], high = [-2], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %0, %0 : tensor<8xf32>, tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}", "{devices=[2]0,1}", "{replicated}", "{replicated}"], mhlo.spmd_output_sharding = "{{devices=[2]0,1}, {devices=[2]0,1}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.slice %arg1 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.dynamic_slice %3, %4, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %7 = stablehlo.convert %6 : (tensor<i32>) -> tensor<i1>
    %8 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %9 = stablehlo.select %7, %2, %8 : tensor<i1>, tensor<2xf32>
    %10 = stablehlo.slice %arg1 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %11 = stablehlo.concatenate %9, %10, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %12 = stablehlo.pad %11, %0, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %12, %12 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// What is computed of shares, or for them alone, is computed as shares, numbers and constants too; results that say nothing
// are where they are made.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%a: tensor<8x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %s: tensor<i32>) -> tensor<8x6xi32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x6xi32>
    %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<8x6xi32>
    %2 = stablehlo.constant dense<7> : tensor<8x6xi32>
    %3 = stablehlo.multiply %0, %1 : tensor<8x6xi32>
    %4 = stablehlo.subtract %3, %2 : tensor<8x6xi32>
    %5 = stablehlo.xor %a, %4 : tensor<8x6xi32>
    return %5 : tensor<8x6xi32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,2]0,1,2,3}", "{replicated}"], mhlo.spmd_output_sharding = "{devices=[2,2]0,1,2,3}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%arg0: tensor<4x3xi32>, %arg1: tensor<i32>) -> tensor<4x3xi32> {
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi32>
    %1 = stablehlo.constant dense<[0, 0, 4, 4]> : tensor<4xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %3 = stablehlo.dynamic_slice %1, %2, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
    %5 = stablehlo.convert %4 : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
    %7 = stablehlo.add %0, %6 : tensor<4x3xi32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
    %9 = stablehlo.constant dense<7> : tensor<4x3xi32>
    %10 = stablehlo.multiply %7, %8 : tensor<4x3xi32>
    %11 = stablehlo.subtract %10, %9 : tensor<4x3xi32>
    %12 = stablehlo.xor %arg0, %11 : tensor<4x3xi32>
    return %12 : tensor<4x3xi32>
  }
}
// -----
// Dimensions that an op leaves as they are stay divided; those that it sums, cuts or joins are gathered.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %i: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<6xf32>, tensor<8x4xf32>, tensor<8x1x5xf32>, tensor<8x4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
    %4 = stablehlo.dynamic_slice %a, %n, %n, sizes = [8, 4] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %5 = stablehlo.slice %a [0:8, 1:6] : (tensor<8x6xf32>) -> tensor<8x5xf32>
    %6 = stablehlo.reshape %5 : (tensor<8x5xf32>) -> tensor<8x1x5xf32>
    %7 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 8, 1>}> : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<8x4xf32>
    return %1, %2, %3, %4, %6, %7 : tensor<4x8xf32>, tensor<8xf32>, tensor<6xf32>, tensor<8x4xf32>, tensor<8x1x5xf32>, tensor<8x4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}", "{devices=[2,2]0,2,1,3 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{{devices=[2,2]0,2,1,3}, {devices=[2,2]0,1,2,3 last_tile_dim_replicate}, {replicated}, {devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}, {devices=[2,1,1,2]0,1,2,3 last_tile_dim_replicate}, {devices=[2,2]0,1,2,3}}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%arg0: tensor<4x6xf32>, %arg1: tensor<6x2xf32>, %arg2: tensor<2xi32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<4x1x5xf32>, tensor<4x2xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %6 = stablehlo.dynamic_slice %arg0, %1, %1, sizes = [4, 4] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    %7 = stablehlo.slice %arg0 [0:4, 1:6] : (tensor<4x6xf32>) -> tensor<4x5xf32>
    %8 = stablehlo.reshape %7 : (tensor<4x5xf32>) -> tensor<4x1x5xf32>
    %9 = "stablehlo.gather"(%arg0, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x6xf32>, tensor<2xi32>) -> tensor<4x2xf32>
    %10 = "stablehlo.all_reduce"(%5) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %11 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<6xf32>) -> tensor<6xf32>
    return %3, %4, %10, %6, %8, %9 : tensor<2x4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<4x1x5xf32>, tensor<4x2xf32>
  }
}
// -----
// Of a loop's variables those are shares whose next value is one, and that it needs no whole of.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.constant dense<0.0> : tensor<8xf32>
    %0:4 = stablehlo.while(%i = %z, %u = %a, %v = %c, %w = %a) : tensor<i32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %u, %v : tensor<8xf32>
      %3 = stablehlo.add %v, %a : tensor<8xf32>
      %4 = stablehlo.reverse %w, dims = [0] : tensor<8xf32>
      %5 = "stablehlo.sort"(%4) <{dimension = 0 : i64}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %6 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %6 : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %1, %2, %3, %5 : tensor<i32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    }
    return %0#1, %0#2, %0#3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}", "{replicated}"], mhlo.spmd_output_sharding = "{{devices=[2]0,1}, {devices=[2]0,1}, {devices=[2]0,1}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %2:4 = stablehlo.while(%arg2 = %0, %arg3 = %arg0, %arg4 = %1, %arg5 = %arg0) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %3 = stablehlo.compare LT, %arg2, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %arg2, %4 : tensor<i32>
      %6 = stablehlo.add %arg3, %arg4 : tensor<4xf32>
      %7 = stablehlo.add %arg4, %arg0 : tensor<4xf32>
      %8 = "stablehlo.collective_permute"(%arg5) <{source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      %9 = stablehlo.reverse %8, dims = [0] : tensor<4xf32>
      %10 = "stablehlo.all_gather"(%9) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
      %11 = "stablehlo.sort"(%10) <{dimension = 0 : i64}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %12 = stablehlo.compare LT, %arg6, %arg7 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %12 : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %13 = stablehlo.constant dense<[0, 4]> : tensor<2xi32>
      %14 = stablehlo.partition_id : tensor<ui32>
      %15 = stablehlo.dynamic_slice %13, %14, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
      %16 = stablehlo.reshape %15 : (tensor<1xi32>) -> tensor<i32>
      %17 = stablehlo.dynamic_slice %11, %16, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
      stablehlo.return %5, %6, %7, %17 : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    return %2#1, %2#2, %2#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// Older programs say in HLO's words what is where; what they say of parts of different sizes on the way is not followed.
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @f(%a: tensor<8x6xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}, %b: tensor<8x6xf32> {mhlo.sharding = "{devices=[4,1,2]0,1,2,3,4,5,7,6 last_tile_dim_replicate}"}, %c: tensor<f32> {mhlo.sharding = "{replicated}"}) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2,2]<=[8] last_tile_dims={replicated, replicated}}"}, tensor<f32>) {
    %0 = stablehlo.negate %a : tensor<8x6xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{devices=[1,8]<=[8]}"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %3 = stablehlo.abs %b : tensor<8x6xf32>
    return %1, %2, %3, %c : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 8 : i32, mhlo.spmd_parameters_shardings = ["{devices=[4,2]0,4,1,5,2,6,3,7}", "{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", "{replicated}"], mhlo.spmd_output_sharding = "{{devices=[8,1]0,1,2,3,4,5,6,7}, {devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}, {devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}, {replicated}}"} {
  sdy.mesh @mesh = <["_axis_0"=2, "_axis_1"=2, "_axis_2"=2]>
  sdy.mesh @mesh_0 = <["_axis_0"=4, "_axis_1"=1, "_axis_2"=2], device_ids=[0, 1, 2, 3, 4, 5, 7, 6]>
  func.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<2x6xf32>, %arg2: tensor<f32>) -> (tensor<1x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<f32>) {
    %0 = "stablehlo.all_to_all"(%arg0) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<1x6xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 0], [4, 1], [1, 2], [5, 3], [2, 4], [6, 5], [3, 6], [7, 7]]> : tensor<8x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x6xf32>) -> tensor<1x6xf32>
    %2 = stablehlo.negate %1 : tensor<1x6xf32>
    %3 = stablehlo.abs %arg1 : tensor<2x6xf32>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2, 4, 7], [1, 3, 5, 6]]> : tensor<2x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<8x6xf32>
    %5 = stablehlo.constant dense<[0, 0, 0, 0, 4, 4, 4, 4]> : tensor<8xi32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = stablehlo.dynamic_slice %5, %6, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    %8 = stablehlo.reshape %7 : (tensor<1xi32>) -> tensor<i32>
    %9 = stablehlo.constant dense<0> : tensor<i32>
    %10 = stablehlo.dynamic_slice %4, %8, %9, sizes = [4, 6] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    return %2, %arg1, %10, %arg2 : tensor<1x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<f32>
  }
}
// -----
// RUN: --passes=inline,partition
// One partition: nothing is divided, and what it computes can be checked.
module attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  func.func private @g(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
      %1 = stablehlo.add %b, %b : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = func.call @g(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  func.func @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// Custom calls that compute batch by batch are called for the batches of a partition.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %k: tensor<i32>) -> (tensor<4x3x3xf32>, tensor<4xi32>, tensor<4x3x3xf32>, tensor<4x3x3xf32>) {
    %0:2 = stablehlo.custom_call @lapack(%a, %k) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<4x3x3xf32>, tensor<i32>) -> (tensor<4x3x3xf32>, tensor<4xi32>)
    %1 = stablehlo.custom_call @solve(%0#0, %a) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<4x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
    %2 = stablehlo.custom_call @other(%a) : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
    return %0#0, %0#1, %1, %2 : tensor<4x3x3xf32>, tensor<4xi32>, tensor<4x3x3xf32>, tensor<4x3x3xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1,1]0,1}", "{replicated}"], mhlo.spmd_output_sharding = "{{devices=[2,1,1]0,1}, {devices=[2]0,1}, {devices=[2,1,1]0,1}, {replicated}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<2x3x3xf32>, %arg1: tensor<i32>) -> (tensor<2x3x3xf32>, tensor<2xi32>, tensor<2x3x3xf32>, tensor<4x3x3xf32>) {
    %0:2 = stablehlo.custom_call @lapack(%arg0, %arg1) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<2x3x3xf32>, tensor<i32>) -> (tensor<2x3x3xf32>, tensor<2xi32>)
    %1 = stablehlo.custom_call @solve(%0#0, %arg0) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %2 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x3x3xf32>) -> tensor<4x3x3xf32>
    %3 = stablehlo.custom_call @other(%2) : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
    return %0#0, %0#1, %1, %3 : tensor<2x3x3xf32>, tensor<2xi32>, tensor<2x3x3xf32>, tensor<4x3x3xf32>
  }
}
// -----
// Scatters along dimensions that updates have in full, or that indices go along; pads of other dimensions.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<4x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<1xi32>, %u: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %j: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x3xi32>, tensor<4x3xi32>, tensor<4x5xi32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      stablehlo.return %y : tensor<i32>
    }) : (tensor<4x3xi32>, tensor<1xi32>, tensor<4xi32>) -> tensor<4x3xi32>
    %1 = "stablehlo.scatter"(%a, %j, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      stablehlo.return %y : tensor<i32>
    }) : (tensor<4x3xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<4x3xi32>
    %2 = stablehlo.pad %1, %z, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4x5xi32>
    return %0, %1, %2 : tensor<4x3xi32>, tensor<4x3xi32>, tensor<4x5xi32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1]0,1}", "{replicated}", "{devices=[2]0,1}", "{devices=[2,1]0,1}"], mhlo.spmd_output_sharding = "{{devices=[2,1]0,1}, {devices=[2,1]0,1}, {devices=[2,1]0,1}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<2x3xi32>, %arg1: tensor<1xi32>, %arg2: tensor<2xi32>, %arg3: tensor<2x1xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x5xi32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<i32>):
      stablehlo.return %arg5 : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
    %2 = "stablehlo.scatter"(%arg0, %arg3, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
      stablehlo.return %arg7 : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
    %3 = stablehlo.pad %2, %0, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x5xi32>
    return %1, %2, %3 : tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x5xi32>
  }
}
// -----
// Not along the dimension that indices choose from, which is gathered; nor along one that is padded.
module attributes {mhlo.num_partitions = 3 : i32} {
  sdy.mesh @mesh = <["x"=3]>
  func.func @f(%a: tensor<4x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<1xi32>, %u: tensor<4xi32>) -> (tensor<4x3xi32>, tensor<4x9xi32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      stablehlo.return %y : tensor<i32>
    }) : (tensor<4x3xi32>, tensor<1xi32>, tensor<4xi32>) -> tensor<4x3xi32>
    %1 = stablehlo.pad %a, %z, low = [0, 3], high = [0, 3], interior = [0, 0] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4x9xi32>
    return %0, %1 : tensor<4x3xi32>, tensor<4x9xi32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 3 : i32, mhlo.spmd_parameters_shardings = ["{devices=[1,3]0,1,2}", "{replicated}", "{replicated}"], mhlo.spmd_output_sharding = "{{devices=[1,3]0,1,2}, {devices=[1,3]0,1,2}}"} {
  sdy.mesh @mesh = <["x"=3]>
  func.func @f(%arg0: tensor<4x1xi32>, %arg1: tensor<1xi32>, %arg2: tensor<4xi32>) -> (tensor<4x1xi32>, tensor<4x3xi32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<[[0], [1], [2]]> : tensor<3x1xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %3 = stablehlo.constant dense<0> : tensor<ui32>
    %4 = stablehlo.dynamic_slice %1, %2, %3, sizes = [1, 1] : (tensor<3x1xi32>, tensor<ui32>, tensor<ui32>) -> tensor<1x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<1x1xi32>) -> tensor<1xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xi32>) -> tensor<1xi32>
    %7 = stablehlo.subtract %arg1, %6 : tensor<1xi32>
    %8 = "stablehlo.scatter"(%arg0, %7, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<4x1xi32>, tensor<1xi32>, tensor<4xi32>) -> tensor<4x1xi32>
    %9 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x1xi32>) -> tensor<4x3xi32>
    %10 = stablehlo.pad %9, %0, low = [0, 3], high = [0, 3], interior = [0, 0] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4x9xi32>
    %11 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.constant dense<[0, 3, 6]> : tensor<3xi32>
    %13 = stablehlo.partition_id : tensor<ui32>
    %14 = stablehlo.dynamic_slice %12, %13, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %15 = stablehlo.reshape %14 : (tensor<1xi32>) -> tensor<i32>
    %16 = stablehlo.dynamic_slice %10, %11, %15, sizes = [4, 3] : (tensor<4x9xi32>, tensor<i32>, tensor<i32>) -> tensor<4x3xi32>
    return %8, %16 : tensor<4x1xi32>, tensor<4x3xi32>
  }
}
// -----
// Two layers, data and tensor parallel: one sum over the devices that share a part of the batch.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @f(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %w2: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x16xf32> {
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x32xf32>
    %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}", "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}"} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @f(%arg0: tensor<4x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.tanh %0 : tensor<4x16xf32>
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %3 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %4 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %3 : tensor<4x16xf32>
  }
}
// -----
// A gradient whose parameter is divided as its batch is: a reduce-scatter, not a sum of all.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func @f(%x: tensor<128x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %dy: tensor<128x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<128x16xf32>, tensor<128x32xf32>) -> tensor<16x32xf32>
    return %0 : tensor<16x32xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[4,1]0,1,2,3}", "{devices=[4,1]0,1,2,3}"], mhlo.spmd_output_sharding = "{devices=[4,1]0,1,2,3}"} {
  sdy.mesh @mesh = <["data"=4]>
  func.func @f(%arg0: tensor<32x16xf32>, %arg1: tensor<32x32xf32>) -> tensor<4x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<32x16xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
    %1 = "stablehlo.reduce_scatter"(%0) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<16x32xf32>) -> tensor<4x32xf32>
    return %1 : tensor<4x32xf32>
  }
}
// -----
// Rows of a table that is divided by rows: each device takes those of its part, and what they took is added.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%table: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<3x1xi32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1]0,1}", "{replicated}"], mhlo.spmd_output_sharding = "{replicated}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4x4xf32>, %arg1: tensor<3x1xi32>) -> tensor<3x4xf32> {
    %0 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1x1xi32>) -> tensor<1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %3 = stablehlo.constant dense<7> : tensor<1x1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1x1xi32>) -> tensor<1xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %6 = stablehlo.clamp %2, %arg1, %5 : tensor<3x1xi32>
    %7 = stablehlo.constant dense<[[0], [4]]> : tensor<2x1xi32>
    %8 = stablehlo.partition_id : tensor<ui32>
    %9 = stablehlo.constant dense<0> : tensor<ui32>
    %10 = stablehlo.dynamic_slice %7, %8, %9, sizes = [1, 1] : (tensor<2x1xi32>, tensor<ui32>, tensor<ui32>) -> tensor<1x1xi32>
    %11 = stablehlo.reshape %10 : (tensor<1x1xi32>) -> tensor<1xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %13 = stablehlo.subtract %6, %12 : tensor<3x1xi32>
    %14 = "stablehlo.gather"(%arg0, %13) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    %15 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %16 = stablehlo.reshape %15 : (tensor<1x1xi32>) -> tensor<1xi32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %18 = stablehlo.compare GE, %13, %17 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %19 = stablehlo.constant dense<3> : tensor<1x1xi32>
    %20 = stablehlo.reshape %19 : (tensor<1x1xi32>) -> tensor<1xi32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %22 = stablehlo.compare LE, %13, %21 : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %23 = stablehlo.and %18, %22 : tensor<3x1xi1>
    %24 = stablehlo.constant dense<true> : tensor<i1>
    %25 = stablehlo.reduce(%23 init: %24) applies stablehlo.and across dimensions = [1] : (tensor<3x1xi1>, tensor<i1>) -> tensor<3xi1>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<3xi1>) -> tensor<3x4xi1>
    %27 = stablehlo.constant dense<-0.000000e+00> : tensor<3x4xf32>
    %28 = stablehlo.select %26, %14, %27 : tensor<3x4xi1>, tensor<3x4xf32>
    %29 = "stablehlo.all_reduce"(%28) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %30 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %30 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %29 : tensor<3x4xf32>
  }
}
// -----
// A call by whose rule a factor is of the operand alone is not computed on parts of it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
    %0 = stablehlo.custom_call @solve(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=4, j=8, k=8}, custom>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[1,2]0,1}"], mhlo.spmd_output_sharding = "{replicated}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.custom_call @solve(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
// -----
// Parts of sums stay so where the program says it: the product and the sum of both are made without communication, a constant is the
// first partition's, a shard stands among zeros; then one reduce-scatter and one all-reduce.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %d: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x"}>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x", "y"}>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}], unreduced={"x"}>}, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x4xf32>
    %2 = stablehlo.add %1, %c : tensor<8x4xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x4xf32>
    %4 = stablehlo.constant dense<1.0> : tensor<4xf32>
    %5 = stablehlo.sine %c : tensor<8x4xf32>
    return %3, %3, %4, %d, %5 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<8xi32>, tensor<8x4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[1,2,2]0,1,2,3 last_tile_dim_replicate}", "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", "{devices=[1,1,2,2]0,1,2,3 last_tile_dims={unreduced, replicated}}", "{devices=[4]0,2,1,3}"], mhlo.spmd_output_sharding = "{{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}, {devices=[1,2,2]0,2,1,3 last_tile_dims={unreduced}}, {unreduced}, {devices=[2,2]0,2,1,3 last_tile_dims={unreduced}}, {replicated}}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%arg0: tensor<8x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<8x4xf32>, %arg3: tensor<2xi32>) -> (tensor<4x4xf32>, tensor<8x2xf32>, tensor<4xf32>, tensor<4xi32>, tensor<8x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.add %0, %arg2 : tensor<8x4xf32>
    %2 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %3 = "stablehlo.all_reduce"(%arg2) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %4 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.sine %3 : tensor<8x4xf32>
    %6 = "stablehlo.reduce_scatter"(%1) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %7 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %8 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.constant dense<[0, 2, 0, 2]> : tensor<4xi32>
    %10 = stablehlo.partition_id : tensor<ui32>
    %11 = stablehlo.dynamic_slice %9, %10, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %12 = stablehlo.reshape %11 : (tensor<1xi32>) -> tensor<i32>
    %13 = stablehlo.dynamic_slice %1, %8, %12, sizes = [8, 2] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
    %14 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    %15 = stablehlo.partition_id : tensor<ui32>
    %16 = stablehlo.dynamic_slice %14, %15, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %17 = stablehlo.reshape %16 : (tensor<1xi32>) -> tensor<i32>
    %18 = stablehlo.constant dense<0> : tensor<i32>
    %19 = stablehlo.compare EQ, %17, %18 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %20 = stablehlo.constant dense<-0.000000e+00> : tensor<4xf32>
    %21 = stablehlo.select %19, %2, %20 : tensor<i1>, tensor<4xf32>
    %22 = stablehlo.constant dense<0> : tensor<4xi32>
    %23 = stablehlo.constant dense<[0, 0, 2, 2]> : tensor<4xi32>
    %24 = stablehlo.partition_id : tensor<ui32>
    %25 = stablehlo.dynamic_slice %23, %24, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %26 = stablehlo.reshape %25 : (tensor<1xi32>) -> tensor<i32>
    %27 = stablehlo.dynamic_update_slice %22, %arg3, %26 : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
    return %6, %13, %21, %27, %5 : tensor<4x4xf32>, tensor<8x2xf32>, tensor<4xf32>, tensor<4xi32>, tensor<8x4xf32>
  }
}
// -----
// A maximum of parts of maxima is taken before it is a part of a sum.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
    %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1]0,1}"], mhlo.spmd_output_sharding = "{unreduced}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4x6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<6xf32>) -> tensor<6xf32>
    %4 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.dynamic_slice %4, %5, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
    %8 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare EQ, %7, %8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.constant dense<-0.000000e+00> : tensor<6xf32>
    %11 = stablehlo.select %9, %2, %10 : tensor<i1>, tensor<6xf32>
    return %11 : tensor<6xf32>
  }
}
// -----
// Sums of i8 wrap, so what is to be multiplied in i32 is summed first.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<2x3xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, %b: tensor<3x4xi8>) -> (tensor<2x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}, tensor<2x4xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi8>
    return %0, %1 : tensor<2x4xi32>, tensor<2x4xi8>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{unreduced}", "{replicated}"], mhlo.spmd_output_sharding = "{{unreduced}, {unreduced}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<2x3xi8>, %arg1: tensor<3x4xi8>) -> (tensor<2x4xi32>, tensor<2x4xi8>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<i8>, %arg3: tensor<i8>):
      %1 = stablehlo.add %arg2, %arg3 : tensor<i8>
      stablehlo.return %1 : tensor<i8>
    }) : (tensor<2x3xi8>) -> tensor<2x3xi8>
    %2 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
    %3 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi8>
    %4 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.dynamic_slice %4, %5, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
    %8 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare EQ, %7, %8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.constant dense<0> : tensor<2x4xi32>
    %11 = stablehlo.select %9, %2, %10 : tensor<i1>, tensor<2x4xi32>
    return %11, %3 : tensor<2x4xi32>, tensor<2x4xi8>
  }
}
// -----
// Neighbours send the rows that windows reach over; zeros come from nobody. The name in a list of shardings may be written.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%a: tensor<1x16x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x1x1xf32>) -> tensor<1x16x1xf32> {
    %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@mesh, [{}, {"x"}, {}]>]>} : (tensor<1x16x1xf32>, tensor<3x1x1xf32>) -> tensor<1x16x1xf32>
    return %r : tensor<1x16x1xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[1,4,1]0,1,2,3}", "{replicated}"], mhlo.spmd_output_sharding = "{devices=[1,4,1]0,1,2,3}"} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%arg0: tensor<1x4x1xf32>, %arg1: tensor<3x1x1xf32>) -> tensor<1x4x1xf32> {
    %0 = stablehlo.slice %arg0 [0:1, 3:4, 0:1] : (tensor<1x4x1xf32>) -> tensor<1x1x1xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %2 = stablehlo.slice %arg0 [0:1, 0:1, 0:1] : (tensor<1x4x1xf32>) -> tensor<1x1x1xf32>
    %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %4 = stablehlo.concatenate %1, %arg0, %3, dim = 1 : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x6x1xf32>
    %5 = stablehlo.convolution(%4, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]] } {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x6x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
    return %5 : tensor<1x4x1xf32>
  }
}
// -----
// A pad before windows that begin with the same is theirs; who has no neighbour gets that.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %p = stablehlo.pad %a, %least, low = [2], high = [0], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
    %r = "stablehlo.reduce_window"(%p, %least) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) {window_dimensions = array<i64: 3>} : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}"], mhlo.spmd_output_sharding = "{devices=[2]0,1}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.slice %arg0 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.dynamic_slice %3, %4, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %7 = stablehlo.convert %6 : (tensor<i32>) -> tensor<i1>
    %8 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %9 = stablehlo.select %7, %2, %8 : tensor<i1>, tensor<2xf32>
    %10 = stablehlo.concatenate %9, %arg0, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
    %11 = "stablehlo.reduce_window"(%10, %0) <{window_dimensions = array<i64: 3>, padding = dense<0> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %12 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<6xf32>, tensor<f32>) -> tensor<4xf32>
    return %11 : tensor<4xf32>
  }
}
// -----
// One permutation for a reversal; parts of slices that begin at other places are put where they belong.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %r = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
    %s = stablehlo.slice %a [1:5] : (tensor<8xf32>) -> tensor<4xf32>
    return %r, %s : tensor<8xf32>, tensor<4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}"], mhlo.spmd_output_sharding = "{{devices=[2]0,1}, {devices=[2]0,1}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    %2 = stablehlo.constant dense<-0.000000e+00> : tensor<6xf32>
    %3 = stablehlo.slice %arg0 [3:4] : (tensor<4xf32>) -> tensor<1xf32>
    %4 = "stablehlo.collective_permute"(%3) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1xf32>) -> tensor<1xf32>
    %5 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = stablehlo.dynamic_slice %5, %6, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %8 = stablehlo.reshape %7 : (tensor<1xi32>) -> tensor<i32>
    %9 = stablehlo.dynamic_update_slice %2, %4, %8 : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
    %10 = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %11 = stablehlo.partition_id : tensor<ui32>
    %12 = stablehlo.dynamic_slice %10, %11, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %13 = stablehlo.reshape %12 : (tensor<1xi32>) -> tensor<i32>
    %14 = stablehlo.dynamic_slice %arg0, %13, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %15 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
    %16 = stablehlo.partition_id : tensor<ui32>
    %17 = stablehlo.dynamic_slice %15, %16, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %18 = stablehlo.reshape %17 : (tensor<1xi32>) -> tensor<i32>
    %19 = stablehlo.dynamic_update_slice %9, %14, %18 : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>
    %20 = stablehlo.slice %19 [2:4] : (tensor<6xf32>) -> tensor<2xf32>
    %21 = stablehlo.slice %20 [0:2] : (tensor<2xf32>) -> tensor<2xf32>
    return %1, %21 : tensor<4xf32>, tensor<2xf32>
  }
}
// -----
// Windows that do not reach over parts are selected from by each; what is added is divided as they are.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.select_and_scatter"(%a, %g, %zero) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %m : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}", "{devices=[2]0,1}"], mhlo.spmd_output_sharding = "{devices=[2]0,1}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.select_and_scatter"(%arg0, %arg1, %0) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }, {
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %3 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
// -----
// The end of a value and then its beginning are a rotation: each sends to the next, the last to the first.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.slice %a [7:8] : (tensor<8xf32>) -> tensor<1xf32>
    %1 = stablehlo.slice %a [0:7] : (tensor<8xf32>) -> tensor<7xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[4]0,1,2,3}"], mhlo.spmd_output_sharding = "{devices=[4]0,1,2,3}"} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.slice %arg0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[3, 0], [0, 1], [1, 2], [2, 3]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1xf32>) -> tensor<1xf32>
    %2 = stablehlo.slice %arg0 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
}
// -----
// Sizes that cannot be multiplied are not divided so.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %a, %z, low = [-9223372036854775807], high = [9223372036854775805], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}"], mhlo.spmd_output_sharding = "{devices=[2]0,1}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<2xf32>) -> tensor<1xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
    %2 = stablehlo.pad %1, %0, low = [-9223372036854775807], high = [9223372036854775805], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.dynamic_slice %3, %4, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %7 = stablehlo.dynamic_slice %2, %6, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
    return %7 : tensor<1xf32>
  }
}
// -----
// Collectives that Shardy's own partitioner makes: a sum of what partitions have, of the parts of a product, which is the product's
// value already, and of both; max and min. A value on one device that depends on which it is goes to all from there.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @one = <[], device_ids=[2]>
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %c: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, tensor<ui32>) {
    %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
    %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
    %3 = sdy.all_reduce {"x", "y"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
    %4 = sdy.reduce_scatter max [{"y"}, {}] %a out_sharding=<@mesh, [{"y"}, {}]> : tensor<4x4xf32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.add %5, %5 {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<ui32>
    return %0, %2, %3, %4, %6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<ui32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{replicated}", "{devices=[1,2,2]0,1,2,3 last_tile_dim_replicate}", "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{{replicated}, {replicated}, {replicated}, {devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}, {replicated}}"} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @one = <[], device_ids=[2]>
  func.func @f(%arg0: tensor<4x4xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<ui32>) {
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.partition_id : tensor<ui32>
    %4 = stablehlo.add %3, %3 : tensor<ui32>
    %5 = "stablehlo.collective_broadcast"(%4) <{replica_groups = dense<[[2, 0, 1, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<ui32>) -> tensor<ui32>
    %6 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %7 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %8 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %9 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %10 = "stablehlo.reduce_scatter"(%arg0) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %11 = stablehlo.maximum %arg9, %arg10 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<2x4xf32>
    return %6, %1, %8, %10, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<ui32>
  }
}
// -----
// A mesh over replicas, where there is one partition.
module attributes {mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<f32>, tensor<4xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %1 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
    %2 = stablehlo.add %a, %1 : tensor<4xf32>
    return %0, %2 : tensor<f32>, tensor<4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
    %1 = stablehlo.iota dim = 0 : tensor<2xf32>
    %2 = stablehlo.iota dim = 0 : tensor<2xi32>
    %3 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %4 = stablehlo.replica_id : tensor<ui32>
    %5 = stablehlo.dynamic_slice %3, %4, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %8 = stablehlo.add %2, %7 : tensor<2xi32>
    %9 = stablehlo.convert %8 : (tensor<2xi32>) -> tensor<2xf32>
    %10 = stablehlo.add %arg0, %9 : tensor<2xf32>
    %11 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %12 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    return %11, %10 : tensor<f32>, tensor<2xf32>
  }
}
// -----
// A call on one device is made by that partition alone, with all of the operand; the others get its result. A call on shards is
// made by all.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  sdy.mesh @second = <[], device_ids=[1]>
  func.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, !stablehlo.token) {
    %t = stablehlo.create_token : !stablehlo.token
    %0:2 = stablehlo.custom_call @ask(%t, %a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@second, []>, <@second, []>]>} : (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>)
    stablehlo.custom_call @tell(%a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@second, []>]>} : (tensor<4xf32>) -> ()
    stablehlo.custom_call @tell(%a) {has_side_effect = true, hilo.on_shards, sdy.sharding = #sdy.sharding_per_value<[<@second, []>]>} : (tensor<4xf32>) -> ()
    return %0#1, %0#0 : tensor<4xf32>, !stablehlo.token
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2]0,1}"], mhlo.spmd_output_sharding = "{{devices=[2]0,1}, {replicated}}"} {
  sdy.mesh @mesh = <["x"=2]>
  sdy.mesh @second = <[], device_ids=[1]>
  func.func @f(%arg0: tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token) {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %3 = stablehlo.constant dense<1> : tensor<ui32>
    %4 = stablehlo.compare EQ, %2, %3 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %5 = stablehlo.create_token : !stablehlo.token
    %6 = stablehlo.constant dense<-0.000000e+00> : tensor<4xf32>
    %7:2 = "stablehlo.if"(%4) ({
      %8:2 = stablehlo.custom_call @ask(%0, %1) {has_side_effect = true} : (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>)
      stablehlo.return %8#0, %8#1 : !stablehlo.token, tensor<4xf32>
    }, {
      stablehlo.return %5, %6 : !stablehlo.token, tensor<4xf32>
    }) : (tensor<i1>) -> (!stablehlo.token, tensor<4xf32>)
    %9 = "stablehlo.collective_broadcast"(%7#1) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    %10 = stablehlo.partition_id : tensor<ui32>
    %11 = stablehlo.constant dense<1> : tensor<ui32>
    %12 = stablehlo.compare EQ, %10, %11 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    "stablehlo.if"(%12) ({
      stablehlo.custom_call @tell(%1) {has_side_effect = true} : (tensor<4xf32>) -> ()
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> ()
    stablehlo.custom_call @tell(%arg0) {has_side_effect = true} : (tensor<2xf32>) -> ()
    %13 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %14 = stablehlo.partition_id : tensor<ui32>
    %15 = stablehlo.dynamic_slice %13, %14, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %16 = stablehlo.reshape %15 : (tensor<1xi32>) -> tensor<i32>
    %17 = stablehlo.dynamic_slice %9, %16, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    return %17, %7#0 : tensor<2xf32>, !stablehlo.token
  }
}
// -----
// Parts of a dimension that is not divided evenly end in padding, which is neither summed nor given away.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%a: tensor<10x6xf32>, %b: tensor<2x10xf32>) -> (tensor<6xf32>, tensor<2x6xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<10x6xf32>
    %1 = stablehlo.exponential %0 : tensor<10x6xf32>
    %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
    %3 = stablehlo.dot_general %b, %1, contracting_dims = [1] x [0] : (tensor<2x10xf32>, tensor<10x6xf32>) -> tensor<2x6xf32>
    return %2, %3 : tensor<6xf32>, tensor<2x6xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", "{replicated}"], mhlo.spmd_output_sharding = "{{replicated}, {replicated}}"} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%arg0: tensor<5x6xf32>, %arg1: tensor<2x10xf32>) -> (tensor<6xf32>, tensor<2x6xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<5x6xf32>) -> tensor<10x6xf32>
    %2 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %3 = stablehlo.pad %1, %2, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<12x6xf32>
    %4 = stablehlo.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.dynamic_slice %4, %5, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
    %8 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.dynamic_slice %3, %7, %8, sizes = [3, 6] : (tensor<12x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
    %10 = stablehlo.exponential %9 : tensor<3x6xf32>
    %11 = stablehlo.iota dim = 0 : tensor<3x6xi32>
    %12 = stablehlo.constant dense<[3, 3, 3, 1]> : tensor<4xi32>
    %13 = stablehlo.partition_id : tensor<ui32>
    %14 = stablehlo.dynamic_slice %12, %13, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %15 = stablehlo.reshape %14 : (tensor<1xi32>) -> tensor<i32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i32>) -> tensor<3x6xi32>
    %17 = stablehlo.compare LT, %11, %16 : (tensor<3x6xi32>, tensor<3x6xi32>) -> tensor<3x6xi1>
    %18 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %19 = stablehlo.select %17, %10, %18 : tensor<3x6xi1>, tensor<3x6xf32>
    %20 = stablehlo.reduce(%19 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<3x6xf32>, tensor<f32>) -> tensor<6xf32>
    %21 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %22 = stablehlo.pad %arg1, %21, low = [0, 0], high = [0, 2], interior = [0, 0] : (tensor<2x10xf32>, tensor<f32>) -> tensor<2x12xf32>
    %23 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
    %25 = stablehlo.partition_id : tensor<ui32>
    %26 = stablehlo.dynamic_slice %24, %25, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %27 = stablehlo.reshape %26 : (tensor<1xi32>) -> tensor<i32>
    %28 = stablehlo.dynamic_slice %22, %23, %27, sizes = [2, 3] : (tensor<2x12xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %29 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %30 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %31 = stablehlo.constant dense<[3, 3, 3, 1]> : tensor<4xi32>
    %32 = stablehlo.partition_id : tensor<ui32>
    %33 = stablehlo.dynamic_slice %31, %32, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %34 = stablehlo.reshape %33 : (tensor<1xi32>) -> tensor<i32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %36 = stablehlo.compare LT, %30, %35 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %37 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %38 = stablehlo.select %36, %28, %37 : tensor<2x3xi1>, tensor<2x3xf32>
    %39 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %40 = stablehlo.iota dim = 0 : tensor<3x6xi32>
    %41 = stablehlo.constant dense<[3, 3, 3, 1]> : tensor<4xi32>
    %42 = stablehlo.partition_id : tensor<ui32>
    %43 = stablehlo.dynamic_slice %41, %42, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %44 = stablehlo.reshape %43 : (tensor<1xi32>) -> tensor<i32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [] : (tensor<i32>) -> tensor<3x6xi32>
    %46 = stablehlo.compare LT, %40, %45 : (tensor<3x6xi32>, tensor<3x6xi32>) -> tensor<3x6xi1>
    %47 = stablehlo.broadcast_in_dim %39, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %48 = stablehlo.select %46, %10, %47 : tensor<3x6xi1>, tensor<3x6xf32>
    %49 = stablehlo.dot_general %38, %48, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32>
    %50 = "stablehlo.all_reduce"(%20) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %51 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %51 : tensor<f32>
    }) : (tensor<6xf32>) -> tensor<6xf32>
    %52 = "stablehlo.all_reduce"(%49) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %53 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %53 : tensor<f32>
    }) : (tensor<2x6xf32>) -> tensor<2x6xf32>
    return %50, %52 : tensor<6xf32>, tensor<2x6xf32>
  }
}
// -----
// A call on shards gets them without padding.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%a: tensor<10xf32>) -> tensor<10xf32> {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<10xf32>
    %1 = stablehlo.negate %0 : tensor<10xf32>
    stablehlo.custom_call @tell(%1) {has_side_effect = true, hilo.on_shards, sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<10xf32>) -> ()
    return %1 : tensor<10xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,2]0,1,2,3 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{replicated}"} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%arg0: tensor<5xf32>) -> tensor<10xf32> {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<5xf32>) -> tensor<10xf32>
    %1 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %0, %1, low = [0], high = [2], interior = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<12xf32>
    %3 = stablehlo.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.dynamic_slice %3, %4, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %7 = stablehlo.dynamic_slice %2, %6, sizes = [3] : (tensor<12xf32>, tensor<i32>) -> tensor<3xf32>
    %8 = stablehlo.negate %7 : tensor<3xf32>
    %9 = "stablehlo.all_gather"(%8) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<3xf32>) -> tensor<12xf32>
    %10 = stablehlo.slice %9 [0:10] : (tensor<12xf32>) -> tensor<10xf32>
    %11 = stablehlo.constant dense<[0, 0, 5, 5]> : tensor<4xi32>
    %12 = stablehlo.partition_id : tensor<ui32>
    %13 = stablehlo.dynamic_slice %11, %12, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %14 = stablehlo.reshape %13 : (tensor<1xi32>) -> tensor<i32>
    %15 = stablehlo.dynamic_slice %10, %14, sizes = [5] : (tensor<10xf32>, tensor<i32>) -> tensor<5xf32>
    stablehlo.custom_call @tell(%15) {has_side_effect = true} : (tensor<5xf32>) -> ()
    %16 = "stablehlo.all_gather"(%15) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<5xf32>) -> tensor<10xf32>
    return %16 : tensor<10xf32>
  }
}
// -----
// Windows, pads and slices along a dimension in parts that end in padding: neighbours exchange elements, and what reaches over the
// end of the dimension reads what the window is padded with.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%a: tensor<10xf32>) -> tensor<10xf32> {
    %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<10xf32>
    %1 = "stablehlo.reduce_window"(%0, %m) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %max = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %max : tensor<f32>
    }) {window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<10xf32>, tensor<f32>) -> tensor<10xf32>
    return %1 : tensor<10xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,2]0,1,2,3 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{replicated}"} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @f(%arg0: tensor<5xf32>) -> tensor<10xf32> {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<5xf32>) -> tensor<10xf32>
    %2 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %3 = stablehlo.pad %1, %2, low = [0], high = [2], interior = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<12xf32>
    %4 = stablehlo.constant dense<[0, 3, 6, 9]> : tensor<4xi32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.dynamic_slice %4, %5, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
    %8 = stablehlo.dynamic_slice %3, %7, sizes = [3] : (tensor<12xf32>, tensor<i32>) -> tensor<3xf32>
    %9 = stablehlo.iota dim = 0 : tensor<3xi32>
    %10 = stablehlo.constant dense<[3, 3, 3, 1]> : tensor<4xi32>
    %11 = stablehlo.partition_id : tensor<ui32>
    %12 = stablehlo.dynamic_slice %10, %11, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %13 = stablehlo.reshape %12 : (tensor<1xi32>) -> tensor<i32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %15 = stablehlo.compare LT, %9, %14 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %16 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %17 = stablehlo.select %15, %8, %16 : tensor<3xi1>, tensor<3xf32>
    %18 = stablehlo.slice %17 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
    %19 = "stablehlo.collective_permute"(%18) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1xf32>) -> tensor<1xf32>
    %20 = stablehlo.constant dense<[0, 1, 1, 1]> : tensor<4xi32>
    %21 = stablehlo.partition_id : tensor<ui32>
    %22 = stablehlo.dynamic_slice %20, %21, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %23 = stablehlo.reshape %22 : (tensor<1xi32>) -> tensor<i32>
    %24 = stablehlo.convert %23 : (tensor<i32>) -> tensor<i1>
    %25 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %26 = stablehlo.select %24, %19, %25 : tensor<i1>, tensor<1xf32>
    %27 = stablehlo.slice %17 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    %28 = "stablehlo.collective_permute"(%27) <{source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1xf32>) -> tensor<1xf32>
    %29 = stablehlo.constant dense<[1, 1, 1, 0]> : tensor<4xi32>
    %30 = stablehlo.partition_id : tensor<ui32>
    %31 = stablehlo.dynamic_slice %29, %30, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %32 = stablehlo.reshape %31 : (tensor<1xi32>) -> tensor<i32>
    %33 = stablehlo.convert %32 : (tensor<i32>) -> tensor<i1>
    %34 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %35 = stablehlo.select %33, %28, %34 : tensor<i1>, tensor<1xf32>
    %36 = stablehlo.concatenate %26, %17, %35, dim = 0 : (tensor<1xf32>, tensor<3xf32>, tensor<1xf32>) -> tensor<5xf32>
    %37 = "stablehlo.reduce_window"(%36, %0) <{window_dimensions = array<i64: 3>, padding = dense<0> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %38 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %38 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    %39 = "stablehlo.all_gather"(%37) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<3xf32>) -> tensor<12xf32>
    %40 = stablehlo.slice %39 [0:10] : (tensor<12xf32>) -> tensor<10xf32>
    return %40 : tensor<10xf32>
  }
}
// -----
// A slice from a place that is known at run time moves the slice alone: zeros are added where it is not. An update is done by the
// part that it is in.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<1x8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<2x8xf32>, tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 8] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    %1 = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
    return %0, %1 : tensor<2x8xf32>, tensor<64x8xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1]0,1}", "{replicated}", "{replicated}", "{replicated}"], mhlo.spmd_output_sharding = "{{replicated}, {devices=[2,1]0,1}}"} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<32x8xf32>, %arg1: tensor<1x8xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<2x8xf32>, tensor<32x8xf32>) {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<i64>
    %1 = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.constant dense<62> : tensor<i64>
    %3 = stablehlo.clamp %1, %0, %2 : tensor<i64>
    %4 = stablehlo.constant dense<[0, 32]> : tensor<2xi32>
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.dynamic_slice %4, %5, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
    %8 = stablehlo.convert %7 : (tensor<i32>) -> tensor<i64>
    %9 = stablehlo.subtract %3, %8 : tensor<i64>
    %10 = stablehlo.constant dense<0> : tensor<i64>
    %11 = stablehlo.constant dense<30> : tensor<i64>
    %12 = stablehlo.clamp %10, %9, %11 : tensor<i64>
    %13 = stablehlo.subtract %12, %9 : tensor<i64>
    %14 = stablehlo.convert %arg3 : (tensor<i32>) -> tensor<i64>
    %15 = stablehlo.dynamic_slice %arg0, %12, %14, sizes = [2, 8] : (tensor<32x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x8xf32>
    %16 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %17 = stablehlo.constant dense<2> : tensor<i64>
    %18 = stablehlo.subtract %17, %13 : tensor<i64>
    %19 = stablehlo.constant dense<0> : tensor<i64>
    %20 = stablehlo.constant dense<4> : tensor<i64>
    %21 = stablehlo.clamp %19, %18, %20 : tensor<i64>
    %22 = stablehlo.constant dense<0> : tensor<i64>
    %23 = stablehlo.pad %15, %16, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<6x8xf32>
    %24 = stablehlo.dynamic_slice %23, %21, %22, sizes = [2, 8] : (tensor<6x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x8xf32>
    %25 = stablehlo.constant dense<0> : tensor<i64>
    %26 = stablehlo.constant dense<0> : tensor<i64>
    %27 = stablehlo.dynamic_slice %24, %25, %26, sizes = [2, 8] : (tensor<2x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x8xf32>
    %28 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<i64>
    %29 = stablehlo.constant dense<0> : tensor<i64>
    %30 = stablehlo.constant dense<63> : tensor<i64>
    %31 = stablehlo.clamp %29, %28, %30 : tensor<i64>
    %32 = stablehlo.constant dense<[0, 32]> : tensor<2xi32>
    %33 = stablehlo.partition_id : tensor<ui32>
    %34 = stablehlo.dynamic_slice %32, %33, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %35 = stablehlo.reshape %34 : (tensor<1xi32>) -> tensor<i32>
    %36 = stablehlo.convert %35 : (tensor<i32>) -> tensor<i64>
    %37 = stablehlo.subtract %31, %36 : tensor<i64>
    %38 = stablehlo.constant dense<0> : tensor<i64>
    %39 = stablehlo.constant dense<31> : tensor<i64>
    %40 = stablehlo.clamp %38, %37, %39 : tensor<i64>
    %41 = stablehlo.subtract %40, %37 : tensor<i64>
    %42 = stablehlo.convert %arg3 : (tensor<i32>) -> tensor<i64>
    %43 = stablehlo.dynamic_slice %arg0, %40, %42, sizes = [1, 8] : (tensor<32x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %44 = stablehlo.constant dense<0> : tensor<i64>
    %45 = stablehlo.compare EQ, %41, %44 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %46 = stablehlo.select %45, %arg1, %43 : tensor<i1>, tensor<1x8xf32>
    %47 = stablehlo.dynamic_update_slice %arg0, %46, %40, %42 : (tensor<32x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<32x8xf32>
    %48 = "stablehlo.all_reduce"(%27) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %49 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %49 : tensor<f32>
    }) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    return %48, %47 : tensor<2x8xf32>, tensor<32x8xf32>
  }
}
// -----
// Two parts of an axis that are not of one division of it are not used by one op: three and two halves of six.
module attributes {mhlo.num_partitions = 6 : i32} {
  sdy.mesh @mesh = <["x"=6]>
  func.func @f(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x":(3)2}, {}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %b <@mesh, [{}, {"x":(1)2}]> : tensor<4x4xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 6 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,1,3]0,2,4,1,3,5 last_tile_dim_replicate}", "{devices=[1,2,3]0,1,2,3,4,5 last_tile_dim_replicate}"], mhlo.spmd_output_sharding = "{replicated}"} {
  sdy.mesh @mesh = <["x"=6]>
  func.func @f(%arg0: tensor<4x4xf32>, %arg1: tensor<4x2xf32>) -> tensor<8x4xf32> {
    %0 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
