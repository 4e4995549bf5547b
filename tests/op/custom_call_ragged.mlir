// ragged_all_to_all of JAX: of numbers, and of rows in two blocks for each member, in groups of two.

module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @two(%x: tensor<3xi32>, %y: tensor<4xi32>, %io: tensor<2xi32>, %ss: tensor<2xi32>, %oo: tensor<2xi32>, %rs: tensor<2xi32>) -> tensor<4xi32> {
    %r = stablehlo.custom_call @ragged_all_to_all(%x, %y, %io, %ss, %oo, %rs) {api_version = 4 : i32,
        backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
        : (tensor<3xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
    return %r : tensor<4xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<[3, 4, 0]> : tensor<3xi32>
    %y0 = stablehlo.constant dense<[0, 0, 0, 7]> : tensor<4xi32>
    %y1 = stablehlo.constant dense<[0, 0, 0, 9]> : tensor<4xi32>
    %io = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %s0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %s1 = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
    %o0 = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
    %o1 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %r0 = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
    %r1 = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
    %r:2 = "interpreter.run_parallel"(%x0, %y0, %io, %s0, %o0, %r0, %x1, %y1, %io, %s1, %o1, %r1) {programs = [[@two, @two]]}
        : (tensor<3xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>,
           tensor<3xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[1, 3, 0, 7]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[2, 2, 4, 9]> : tensor<4xi32>
    return
  }
}

// -----

// Each of four partitions sends the last row of its operand, then the first, to each member of its group. Rows that would be outside of
// the result are dropped, and without rows to send nothing changes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @four(%y: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %f = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %ten = stablehlo.constant dense<10.0> : tensor<3x2xf32>
    %row = stablehlo.iota dim = 0 : tensor<3x2xf32>
    %tens = stablehlo.multiply %b, %ten : tensor<3x2xf32>
    %x = stablehlo.add %tens, %row : tensor<3x2xf32>
    %none = stablehlo.constant dense<0> : tensor<4xi64>
    %ones = stablehlo.constant dense<1> : tensor<4xi64>
    %io = stablehlo.constant dense<[2, 0, 2, 0]> : tensor<4xi64>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %rank = stablehlo.remainder %p, %two : tensor<ui32>
    %r = stablehlo.convert %rank : (tensor<ui32>) -> tensor<i64>
    %three = stablehlo.constant dense<3> : tensor<i64>
    %first = stablehlo.multiply %r, %three : tensor<i64>
    %at = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %step = stablehlo.constant dense<[0, 2, 0, 2]> : tensor<4xi64>
    %oo = stablehlo.add %at, %step : tensor<4xi64>
    %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %io, %ones, %oo, %ones) {api_version = 4 : i32,
        backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}
        : (tensor<3x2xf32>, tensor<5x2xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<5x2xf32>
    %1 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %io, %none, %oo, %none) {api_version = 4 : i32,
        backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}
        : (tensor<3x2xf32>, tensor<5x2xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<5x2xf32>
    return %0, %1 : tensor<5x2xf32>, tensor<5x2xf32>
  }
  func.func @main() {
    %y = stablehlo.constant dense<-1.0> : tensor<5x2xf32>
    %r:8 = "interpreter.run_parallel"(%y, %y, %y, %y) {programs = [[@four, @four, @four, @four]]}
        : (tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>)
        -> (tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>)
    check.expect_eq_const %r#0, dense<[[2.0, 2.0], [-1.0, -1.0], [0.0, 0.0], [12.0, 12.0], [-1.0, -1.0]]> : tensor<5x2xf32>
    check.expect_eq_const %r#1, dense<-1.0> : tensor<5x2xf32>
    check.expect_eq_const %r#6, dense<[[22.0, 22.0], [-1.0, -1.0], [20.0, 20.0], [32.0, 32.0], [-1.0, -1.0]]> : tensor<5x2xf32>
    return
  }
}
