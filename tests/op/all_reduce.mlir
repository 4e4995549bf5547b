// Also: run_parallel
//
// all_reduce: which processes a group consists of, and wider results.

// Without a channel, replicas: (0, p) and (1, p).
module @cross_replica {
  func.func private @p(%x: tensor<i64>) -> tensor<i64> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %1 = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<i64>) -> tensor<i64>
    func.return %0 : tensor<i64>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.constant dense<2> : tensor<i64>
    %2 = stablehlo.constant dense<4> : tensor<i64>
    %3 = stablehlo.constant dense<8> : tensor<i64>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@p, @p], [@p, @p]]}
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<5> : tensor<i64>
    check.expect_eq_const %r#1, dense<10> : tensor<i64>
    check.expect_eq_const %r#2, dense<5> : tensor<i64>
    check.expect_eq_const %r#3, dense<10> : tensor<i64>
    func.return
  }
}

// -----

// With a channel, replicas and all their partitions.
module @cross_replica_and_partition {
  func.func private @p(%x: tensor<i64>) -> tensor<i64> {
    %0 = "stablehlo.all_reduce"(%x) <{
      replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
    }> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %1 = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<i64>) -> tensor<i64>
    func.return %0 : tensor<i64>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.constant dense<2> : tensor<i64>
    %2 = stablehlo.constant dense<4> : tensor<i64>
    %3 = stablehlo.constant dense<8> : tensor<i64>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@p, @p], [@p, @p]]}
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<3> : tensor<i64>
    check.expect_eq_const %r#1, dense<3> : tensor<i64>
    check.expect_eq_const %r#2, dense<12> : tensor<i64>
    check.expect_eq_const %r#3, dense<12> : tensor<i64>
    func.return
  }
}

// -----

// Flattened ids, in groups of different sizes; the computation is applied in the order of the group: ((8 - 1) - 4).
module @flattened_ids {
  func.func private @p(%x: tensor<i64>) -> tensor<i64> {
    %0 = "stablehlo.all_reduce"(%x) <{
      replica_groups = dense<[[3, 0, 2], [1, -1, -1]]> : tensor<2x3xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
      use_global_device_ids
    }> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %1 = stablehlo.subtract %a, %b : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<i64>) -> tensor<i64>
    func.return %0 : tensor<i64>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.constant dense<2> : tensor<i64>
    %2 = stablehlo.constant dense<4> : tensor<i64>
    %3 = stablehlo.constant dense<8> : tensor<i64>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@p, @p], [@p, @p]]}
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<3> : tensor<i64>
    check.expect_eq_const %r#1, dense<2> : tensor<i64>
    check.expect_eq_const %r#2, dense<3> : tensor<i64>
    check.expect_eq_const %r#3, dense<3> : tensor<i64>
    func.return
  }
}

// -----

// The computation's element type is the result's: 127 + 127 in i32.
module @promoted {
  func.func private @p(%x: tensor<2xi8>) -> tensor<2xi32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<2xi8>) -> tensor<2xi32>
    func.return %0 : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[127, -1]> : tensor<2xi8>
    %r:2 = "interpreter.run_parallel"(%0, %0) {programs = [[@p], [@p]]}
      : (tensor<2xi8>, tensor<2xi8>) -> (tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#1, dense<[254, -2]> : tensor<2xi32>
    func.return
  }
}

// -----

// What is large is combined in parts, one by each process; what one of three processes has left is shorter.
module @large {
  func.func private @p(%x: tensor<17x251xi64>) -> (tensor<17x251xi64>, tensor<17x251xi64>) {
    %n = stablehlo.negate %x : tensor<17x251xi64>
    %0:2 = "stablehlo.all_reduce"(%x, %n) <{replica_groups = dense<[[2, 0, 1]]> : tensor<1x3xi64>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %1 = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<17x251xi64>, tensor<17x251xi64>) -> (tensor<17x251xi64>, tensor<17x251xi64>)
    %2 = stablehlo.add %0#0, %x : tensor<17x251xi64>
    func.return %2, %0#1 : tensor<17x251xi64>, tensor<17x251xi64>
  }
  func.func @main() {
    %i = stablehlo.iota dim = 1 : tensor<17x251xi64>
    %j = stablehlo.iota dim = 0 : tensor<17x251xi64>
    %k = stablehlo.multiply %j, %j : tensor<17x251xi64>
    %r:6 = "interpreter.run_parallel"(%i, %j, %k) {programs = [[@p], [@p], [@p]]}
      : (tensor<17x251xi64>, tensor<17x251xi64>, tensor<17x251xi64>)
      -> (tensor<17x251xi64>, tensor<17x251xi64>, tensor<17x251xi64>, tensor<17x251xi64>, tensor<17x251xi64>, tensor<17x251xi64>)
    %ij = stablehlo.add %i, %j : tensor<17x251xi64>
    %ijk = stablehlo.add %ij, %k : tensor<17x251xi64>
    %n = stablehlo.negate %ijk : tensor<17x251xi64>
    %1 = stablehlo.add %ijk, %i : tensor<17x251xi64>
    %3 = stablehlo.add %ijk, %k : tensor<17x251xi64>
    check.expect_eq %r#0, %1 : tensor<17x251xi64>
    check.expect_eq %r#4, %3 : tensor<17x251xi64>
    check.expect_eq %r#1, %n : tensor<17x251xi64>
    check.expect_eq %r#3, %n : tensor<17x251xi64>
    check.expect_eq %r#5, %n : tensor<17x251xi64>
    func.return
  }
}
