// A collective and a slice; a future that a function returns stays.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%x: tensor<2xi32>) -> (tensor<4xi32>, tensor<1xi32>, tensor<2xi32>) {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%y: tensor<2xi32>):
      %0 = "stablehlo.all_gather"(%y) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<4xi32>
      stablehlo.return %0 : tensor<4xi32>
    }) : (tensor<2xi32>) -> !stablehlo.future<tensor<4xi32>>
    %d = stablehlo.add %x, %x : tensor<2xi32>
    %g = "stablehlo.async_start"(%d) ({
    ^bb0(%y: tensor<2xi32>):
      %0 = stablehlo.slice %y [1:2] : (tensor<2xi32>) -> tensor<1xi32>
      stablehlo.return %0 : tensor<1xi32>
    }) : (tensor<2xi32>) -> !stablehlo.future<tensor<1xi32>>
    %1 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xi32>>) -> tensor<4xi32>
    %2 = "stablehlo.async_done"(%g) : (!stablehlo.future<tensor<1xi32>>) -> tensor<1xi32>
    %h = func.call @later(%d) : (tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>>
    %3 = "stablehlo.async_done"(%h) : (!stablehlo.future<tensor<2xi32>>) -> tensor<2xi32>
    return %1, %2, %3 : tensor<4xi32>, tensor<1xi32>, tensor<2xi32>
  }
  func.func private @later(%x: tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%y: tensor<2xi32>):
      %0 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %0 : tensor<2xi32>
    }) : (tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>>
    return %f : !stablehlo.future<tensor<2xi32>>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %y = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %r:6 = "interpreter.run_parallel"(%x, %y) {programs = [[@p, @p]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<1xi32>, tensor<2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[1, 2, 10, 20]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<4> : tensor<1xi32>
    check.expect_eq_const %r#2, dense<[20, 40]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[1, 2, 10, 20]> : tensor<4xi32>
    check.expect_eq_const %r#4, dense<40> : tensor<1xi32>
    check.expect_eq_const %r#5, dense<[2, 4]> : tensor<2xi32>
    return
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @p(%arg0: tensor<2xi32>) -> (tensor<4xi32>, tensor<1xi32>, tensor<2xi32>) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<4xi32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<2xi32>
    %2 = stablehlo.slice %1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %3 = call @later(%1) : (tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>>
    %4 = "stablehlo.async_done"(%3) : (!stablehlo.future<tensor<2xi32>>) -> tensor<2xi32>
    return %0, %2, %4 : tensor<4xi32>, tensor<1xi32>, tensor<2xi32>
  }
  func.func private @later(%arg0: tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<2xi32>):
      %1 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %1 : tensor<2xi32>
    }) : (tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>>
    return %0 : !stablehlo.future<tensor<2xi32>>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %2:6 = "interpreter.run_parallel"(%0, %1) <{programs = [[@p, @p]]}> : (tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<1xi32>, tensor<2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2xi32>)
    check.expect_eq_const %2#0, dense<[1, 2, 10, 20]> : tensor<4xi32>
    check.expect_eq_const %2#1, dense<4> : tensor<1xi32>
    check.expect_eq_const %2#2, dense<[20, 40]> : tensor<2xi32>
    check.expect_eq_const %2#3, dense<[1, 2, 10, 20]> : tensor<4xi32>
    check.expect_eq_const %2#4, dense<40> : tensor<1xi32>
    check.expect_eq_const %2#5, dense<[2, 4]> : tensor<2xi32>
    return
  }
}
