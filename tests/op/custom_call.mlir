// custom_call: the targets that are built in. Marks for partitioners and buffers pass on what they get.

func.func @marks() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<2xi32>) -> tensor<2xi32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) : (tensor<2xi32>) -> tensor<2xi32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) : (tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[1, 2]> : tensor<2xi32>
  func.return
}

func.func @checks() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %near = stablehlo.constant dense<[1.00009, 2.0]> : tensor<2xf32>
  %0 = stablehlo.custom_call @check.eq(%x, %near) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  stablehlo.custom_call @check.expect_eq(%x, %x) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  %close = stablehlo.constant dense<[0x3F800003, 0x40000000]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_close(%x, %close) {has_side_effect = true}
    : (tensor<2xf32>, tensor<2xf32>) -> ()
  %almost = stablehlo.constant dense<[1.0009, 2.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%x, %almost) {has_side_effect = true}
    : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return
}

// -----

// What JAX takes for granted about dynamic dimensions.
func.func @holds() {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %n = stablehlo.constant dense<3> : tensor<i32>
  stablehlo.custom_call @shape_assertion(%true, %n) {api_version = 2 : i32, error_message = "is {0}", has_side_effect = true}
    : (tensor<i1>, tensor<i32>) -> ()
  func.return
}

// -----

// Ops of JAX whose sizes are operands. The reducer is a function, and may call others.
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %0 : tensor<f32>
}

func.func private @larger(%a: tensor<i32>, %ai: tensor<i64>, %b: tensor<i32>, %bi: tensor<i64>) -> (tensor<i32>, tensor<i64>) {
  %0 = func.call @before(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %1:2 = "stablehlo.if"(%0) ({
    stablehlo.return %b, %bi : tensor<i32>, tensor<i64>
  }, {
    stablehlo.return %a, %ai : tensor<i32>, tensor<i64>
  }) : (tensor<i1>) -> (tensor<i32>, tensor<i64>)
  func.return %1#0, %1#1 : tensor<i32>, tensor<i64>
}

func.func private @before(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

func.func @dynamic_reduce_window() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<1> : tensor<1xi32>
  %2 = stablehlo.constant dense<2> : tensor<1xi32>
  %3 = stablehlo.constant dense<3> : tensor<1xi32>
  %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>
  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %3, %2, %1, %1, %pad) {called_computations = [@sum]}
    : (tensor<5xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi64>) -> tensor<?xf32>
  %same = stablehlo.custom_call @Sharding(%y) : (tensor<?xf32>) -> tensor<2xf32>
  check.expect_eq_const %same, dense<[3.0, 9.0]> : tensor<2xf32>
  func.return
}

func.func @dynamic_reduce_window_of_two() {
  %x = stablehlo.constant dense<[[3, 7], [7, 1]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  %least = stablehlo.constant dense<-9> : tensor<i32>
  %none = stablehlo.constant dense<-1> : tensor<i64>
  %size = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %pad = stablehlo.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xi32>
  %y:2 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %i, %least, %none, %size, %one, %one, %one, %pad) {called_computations = [@larger]}
    : (tensor<2x2xi32>, tensor<2x2xi64>, tensor<i32>, tensor<i64>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi64>)
  check.expect_eq_const %y#0, dense<[[3, 7], [7, 7]]> : tensor<2x2xi32>
  check.expect_eq_const %y#1, dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>
  func.return
}

func.func @dynamic_top_k() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0], [-1.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %k = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) : (tensor<2x3xf32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %0#0, dense<[[3.0, 2.0], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_eq_const %0#1, dense<[[0, 2], [1, 2]]> : tensor<2x2xi32>
  func.return
}

func.func @dynamic_rng_bit_generator() {
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x3xui32>)
  %1:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %shape) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}
    : (tensor<2xui64>, tensor<2xi32>) -> (tensor<2xui64>, tensor<2x3xui32>)
  check.expect_eq %0#0, %1#0 : tensor<2xui64>
  check.expect_eq %0#1, %1#1 : tensor<2x3xui32>
  func.return
}

func.func @buffers() {
  %0 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<2xf32>
  check.expect_eq_const %0, dense<0.0> : tensor<2xf32>
  func.return
}
