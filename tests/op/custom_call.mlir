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
