// Each collective as exchanges of whole blocks, on two partitions.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%x: tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>) {
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<3> : tensor<i32>
      %d = stablehlo.multiply %b, %c : tensor<i32>
      %s = stablehlo.add %a, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %1 = "stablehlo.reduce_scatter"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2x2xi32>) -> tensor<1x2xi32>
    %2 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2x2xi32>) -> tensor<2x4xi32>
    %3 = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x2xi32>) -> tensor<4x1xi32>
    return %0, %1, %2, %3 : tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %y = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
    %r:8 = "interpreter.run_parallel"(%x, %y) {programs = [[@p, @p]]} : (tensor<2x2xi32>, tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>, tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>)
    check.expect_eq_const %r#0, dense<[[31, 62], [93, 124]]> : tensor<2x2xi32>
    check.expect_eq_const %r#1, dense<[[11, 22]]> : tensor<1x2xi32>
    check.expect_eq_const %r#5, dense<[[33, 44]]> : tensor<1x2xi32>
    check.expect_eq_const %r#6, dense<[[1, 2, 10, 20], [3, 4, 30, 40]]> : tensor<2x4xi32>
    check.expect_eq_const %r#3, dense<[[1], [3], [10], [30]]> : tensor<4x1xi32>
    check.expect_eq_const %r#7, dense<[[2], [4], [20], [40]]> : tensor<4x1xi32>
    return
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%arg0: tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x2xi32>) -> tensor<4xi32>
    %1 = stablehlo.reshape %0 : (tensor<4xi32>) -> tensor<1x4xi32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<1x4xi32>) -> tensor<2x4xi32>
    %3 = stablehlo.slice %2 [0:1, 0:4] : (tensor<2x4xi32>) -> tensor<1x4xi32>
    %4 = stablehlo.reshape %3 : (tensor<1x4xi32>) -> tensor<4xi32>
    %5 = stablehlo.slice %2 [1:2, 0:4] : (tensor<2x4xi32>) -> tensor<1x4xi32>
    %6 = stablehlo.reshape %5 : (tensor<1x4xi32>) -> tensor<4xi32>
    %7 = stablehlo.constant dense<3> : tensor<4xi32>
    %8 = stablehlo.multiply %6, %7 : tensor<4xi32>
    %9 = stablehlo.add %4, %8 : tensor<4xi32>
    %10 = stablehlo.reshape %9 : (tensor<4xi32>) -> tensor<2x2xi32>
    %11 = stablehlo.reshape %arg0 : (tensor<2x2xi32>) -> tensor<2x1x2xi32>
    %12 = "stablehlo.all_to_all"(%11) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> : (tensor<2x1x2xi32>) -> tensor<2x1x2xi32>
    %13 = stablehlo.slice %12 [0:1, 0:1, 0:2] : (tensor<2x1x2xi32>) -> tensor<1x1x2xi32>
    %14 = stablehlo.reshape %13 : (tensor<1x1x2xi32>) -> tensor<1x2xi32>
    %15 = stablehlo.slice %12 [1:2, 0:1, 0:2] : (tensor<2x1x2xi32>) -> tensor<1x1x2xi32>
    %16 = stablehlo.reshape %15 : (tensor<1x1x2xi32>) -> tensor<1x2xi32>
    %17 = stablehlo.add %14, %16 : tensor<1x2xi32>
    %18 = stablehlo.reshape %arg0 : (tensor<2x2xi32>) -> tensor<1x2x2xi32>
    %19 = "stablehlo.all_gather"(%18) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, use_global_device_ids}> : (tensor<1x2x2xi32>) -> tensor<2x2x2xi32>
    %20 = stablehlo.transpose %19, dims = [1, 0, 2] : (tensor<2x2x2xi32>) -> tensor<2x2x2xi32>
    %21 = stablehlo.reshape %20 : (tensor<2x2x2xi32>) -> tensor<2x4xi32>
    %22 = stablehlo.reshape %arg0 : (tensor<2x2xi32>) -> tensor<2x2x1xi32>
    %23 = stablehlo.transpose %22, dims = [1, 0, 2] : (tensor<2x2x1xi32>) -> tensor<2x2x1xi32>
    %24 = "stablehlo.all_to_all"(%23) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>}> : (tensor<2x2x1xi32>) -> tensor<2x2x1xi32>
    %25 = stablehlo.reshape %24 : (tensor<2x2x1xi32>) -> tensor<4x1xi32>
    return %10, %17, %21, %25 : tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %1 = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
    %2:8 = "interpreter.run_parallel"(%0, %1) <{programs = [[@p, @p]]}> : (tensor<2x2xi32>, tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>, tensor<2x2xi32>, tensor<1x2xi32>, tensor<2x4xi32>, tensor<4x1xi32>)
    check.expect_eq_const %2#0, dense<[[31, 62], [93, 124]]> : tensor<2x2xi32>
    check.expect_eq_const %2#1, dense<[[11, 22]]> : tensor<1x2xi32>
    check.expect_eq_const %2#5, dense<[[33, 44]]> : tensor<1x2xi32>
    check.expect_eq_const %2#6, dense<[[1, 2, 10, 20], [3, 4, 30, 40]]> : tensor<2x4xi32>
    check.expect_eq_const %2#3, dense<[[1], [3], [10], [30]]> : tensor<4x1xi32>
    check.expect_eq_const %2#7, dense<[[2], [4], [20], [40]]> : tensor<4x1xi32>
    return
  }
}
// -----
// A large sum is two rounds: each partition sums a third of it.
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%x: tensor<20000xf32>) -> tensor<20000xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<20000xf32>) -> tensor<20000xf32>
    return %0 : tensor<20000xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<1.0> : tensor<20000xf32>
    %r:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@p, @p, @p]]} : (tensor<20000xf32>, tensor<20000xf32>, tensor<20000xf32>) -> (tensor<20000xf32>, tensor<20000xf32>, tensor<20000xf32>)
    check.expect_eq_const %r#0, dense<3.0> : tensor<20000xf32>
    check.expect_eq_const %r#2, dense<3.0> : tensor<20000xf32>
    return
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%arg0: tensor<20000xf32>) -> tensor<20000xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0], high = [1], interior = [0] : (tensor<20000xf32>, tensor<f32>) -> tensor<20001xf32>
    %2 = stablehlo.reshape %1 : (tensor<20001xf32>) -> tensor<3x6667xf32>
    %3 = "stablehlo.all_to_all"(%2) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<3x6667xf32>) -> tensor<3x6667xf32>
    %4 = stablehlo.slice %3 [0:1, 0:6667] : (tensor<3x6667xf32>) -> tensor<1x6667xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x6667xf32>) -> tensor<6667xf32>
    %6 = stablehlo.slice %3 [1:2, 0:6667] : (tensor<3x6667xf32>) -> tensor<1x6667xf32>
    %7 = stablehlo.reshape %6 : (tensor<1x6667xf32>) -> tensor<6667xf32>
    %8 = stablehlo.add %5, %7 : tensor<6667xf32>
    %9 = stablehlo.slice %3 [2:3, 0:6667] : (tensor<3x6667xf32>) -> tensor<1x6667xf32>
    %10 = stablehlo.reshape %9 : (tensor<1x6667xf32>) -> tensor<6667xf32>
    %11 = stablehlo.add %8, %10 : tensor<6667xf32>
    %12 = stablehlo.reshape %11 : (tensor<6667xf32>) -> tensor<1x6667xf32>
    %13 = "stablehlo.all_gather"(%12) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<1x6667xf32>) -> tensor<3x6667xf32>
    %14 = stablehlo.reshape %13 : (tensor<3x6667xf32>) -> tensor<20001xf32>
    %15 = stablehlo.slice %14 [0:20000] : (tensor<20001xf32>) -> tensor<20000xf32>
    return %15 : tensor<20000xf32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<1.000000e+00> : tensor<20000xf32>
    %1:3 = "interpreter.run_parallel"(%0, %0, %0) <{programs = [[@p, @p, @p]]}> : (tensor<20000xf32>, tensor<20000xf32>, tensor<20000xf32>) -> (tensor<20000xf32>, tensor<20000xf32>, tensor<20000xf32>)
    check.expect_eq_const %1#0, dense<3.000000e+00> : tensor<20000xf32>
    check.expect_eq_const %1#2, dense<3.000000e+00> : tensor<20000xf32>
    return
  }
}
// -----
// Two give each other what they have.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %b, %a : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %y = stablehlo.constant dense<[5.0, 7.0, 9.0]> : tensor<3xf32>
    %r:4 = "interpreter.run_parallel"(%x, %y, %y, %y) {programs = [[@p, @p, @p, @p]]} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    check.expect_eq_const %r#0, dense<[6.0, 9.0, 12.0]> : tensor<3xf32>
    check.expect_eq_const %r#1, dense<[10.0, 14.0, 18.0]> : tensor<3xf32>
    check.expect_eq_const %r#2, dense<[6.0, 9.0, 12.0]> : tensor<3xf32>
    check.expect_eq_const %r#3, dense<[10.0, 14.0, 18.0]> : tensor<3xf32>
    return
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[2, 0], [0, 2], [1, 3], [3, 1]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.add %0, %arg0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
    %1 = stablehlo.constant dense<[5.000000e+00, 7.000000e+00, 9.000000e+00]> : tensor<3xf32>
    %2:4 = "interpreter.run_parallel"(%0, %1, %1, %1) <{programs = [[@p, @p, @p, @p]]}> : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    check.expect_eq_const %2#0, dense<[6.000000e+00, 9.000000e+00, 1.200000e+01]> : tensor<3xf32>
    check.expect_eq_const %2#1, dense<[1.000000e+01, 1.400000e+01, 1.800000e+01]> : tensor<3xf32>
    check.expect_eq_const %2#2, dense<[6.000000e+00, 9.000000e+00, 1.200000e+01]> : tensor<3xf32>
    check.expect_eq_const %2#3, dense<[1.000000e+01, 1.400000e+01, 1.800000e+01]> : tensor<3xf32>
    return
  }
}
