// Custom calls that JAX emits for platforms of any name.

func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

func.func @approx_top_k() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 4.0, 1.5, 4.0], [-1.0, -2.0, -0.5, -2.0, -3.0]]> : tensor<2x5xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x5xi32>
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %n = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %v, %n) {
    called_computations = [@greater],
    mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.9 : f32, reduction_dim = 1 : i64, top_k = 3 : i64}
  } : (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %0#0, dense<[[4.0, 4.0, 3.0], [-0.5, -1.0, -2.0]]> : tensor<2x3xf32>
  check.expect_eq_const %0#1, dense<[[2, 4, 0], [2, 0, 1]]> : tensor<2x3xi32>
  func.return
}

// One reflector of (1, 2): 1 - 0.4 v vT.
func.func @householder_product() {
  %a = stablehlo.constant dense<[[7.0], [2.0]]> : tensor<2x1xf64>
  %t = stablehlo.constant dense<[0.4]> : tensor<1xf64>
  %0 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%a, %t) : (tensor<2x1xf64>, tensor<1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %0, dense<[[0.6], [-0.8]]> : tensor<2x1xf64>
  func.return
}
