func.func @branches(%a: tensor<i1>, %b: tensor<f32>, %c: tensor<3xf32>, %d: tensor<?xf32>, %e: !stablehlo.token, %f: tensor<?xf32, #stablehlo.bounds<5>>) {
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  "stablehlo.if"(%a) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  %1:2 = "stablehlo.if"(%a) ({
    stablehlo.return %c, %e : tensor<3xf32>, !stablehlo.token
  }, {
    stablehlo.return %d, %e : tensor<?xf32>, !stablehlo.token
  }) : (tensor<i1>) -> (tensor<?xf32>, !stablehlo.token)
  %2 = "stablehlo.if"(%a) ({
    stablehlo.return %c : tensor<3xf32>
  }, {
    stablehlo.return %f : tensor<?xf32, #stablehlo.bounds<5>>
  }) : (tensor<i1>) -> tensor<?xf32, #stablehlo.bounds<5>>
  func.return
}

// -----

func.func @refused(%a: tensor<i1>, %b: tensor<f32>, %c: tensor<3xf32>, %d: tensor<4xf32>, %e: tensor<1xi1>) {
  // expected-error@+1 {{[if_c1] 'stablehlo.if' op branch 1 must take nothing, but takes 1 values}}
  %0 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // expected-error@+1 {{[if_c2] 'stablehlo.if' op branch 0 returns 1 values, but branch 1 returns 2}}
  %1 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b, %b : tensor<f32>, tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // expected-error@+1 {{[if_c2] 'stablehlo.if' op value 0 of branch 0 has type tensor<3xf32>, but that of branch 1 has type tensor<4xf32>}}
  %2 = "stablehlo.if"(%a) ({
    stablehlo.return %c : tensor<3xf32>
  }, {
    stablehlo.return %d : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  // expected-error@+1 {{[if_c3] 'stablehlo.if' op result 0 has the inferred type tensor<f32>}}
  %3 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i1>) -> tensor<f64>
  // expected-error@+1 {{[if_c3] 'stablehlo.if' op infers 1 results, but has 2}}
  %4:2 = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{'stablehlo.if' op the condition must be a scalar, but has type tensor<1xi1>}}
  %5 = "stablehlo.if"(%e) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<1xi1>) -> tensor<f32>
  func.return
}
