// Two sums over one group are one, before the first use; that over another group and the product, and that of a sum, stay.
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @f(%a: tensor<4xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>) {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.sine %b : tensor<2x2xf32>
    %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %y, %x : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %4 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %5 = stablehlo.negate %0 : tensor<4xf32>
    %6 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %5, %2, %3, %4, %6 : tensor<4xf32>, tensor<2x2xf32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<f32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>) {
    %0 = stablehlo.sine %arg1 : tensor<2x2xf32>
    %1 = "stablehlo.all_reduce"(%arg2) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %3 = "stablehlo.all_reduce"(%arg2) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %4 = stablehlo.maximum %arg5, %arg6 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %5:2 = "stablehlo.all_reduce"(%arg0, %0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %6 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<4xf32>, tensor<2x2xf32>) -> (tensor<4xf32>, tensor<2x2xf32>)
    %7 = stablehlo.negate %5#0 : tensor<4xf32>
    %8 = "stablehlo.all_reduce"(%5#1) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %9 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %7, %5#1, %1, %3, %8 : tensor<4xf32>, tensor<2x2xf32>, tensor<f32>, tensor<f32>, tensor<2x2xf32>
  }
}
// -----
// Not where a sum depends on the other, by an op between.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.sine %0 : tensor<4xf32>
    %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.sine %0 : tensor<4xf32>
    %3 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %4 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
// -----
// Not where folds are of other types.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %r = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %r : tensor<bf16>
    }) : (tensor<4xbf16>) -> tensor<4xbf16>
    return %0, %2 : tensor<4xf32>, tensor<4xbf16>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%arg0: tensor<4xbf16>, %arg1: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "stablehlo.all_reduce"(%arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg4: tensor<bf16>, %arg5: tensor<bf16>):
      %3 = stablehlo.add %arg4, %arg5 : tensor<bf16>
      stablehlo.return %3 : tensor<bf16>
    }) : (tensor<4xbf16>) -> tensor<4xbf16>
    return %0, %2 : tensor<4xf32>, tensor<4xbf16>
  }
}
// -----
// Not those of nothing.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : () -> ()
    "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : () -> ()
    return %a : tensor<4xf32>
  }
}
// ----- expected
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %0 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %0 : tensor<f32>
    }) : () -> ()
    "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : () -> ()
    return %arg0 : tensor<4xf32>
  }
}
