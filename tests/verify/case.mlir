func.func @branches(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<3xf32>, %d: tensor<?xf32>, %e: !stablehlo.token, %f: tensor<?xf32, #stablehlo.bounds<5>>) {
  %0 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  "stablehlo.case"(%a) ({
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i32>) -> ()
  %1:2 = "stablehlo.case"(%a) ({
    stablehlo.return %c, %e : tensor<3xf32>, !stablehlo.token
  }, {
    stablehlo.return %d, %e : tensor<?xf32>, !stablehlo.token
  }) : (tensor<i32>) -> (tensor<?xf32>, !stablehlo.token)
  %2 = "stablehlo.case"(%a) ({
    stablehlo.return %c : tensor<3xf32>
  }, {
    stablehlo.return %f : tensor<?xf32, #stablehlo.bounds<5>>
  }) : (tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
  %3 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  func.return
}

// -----

func.func @refused(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<3xf32>, %d: tensor<4xf32>, %e: tensor<1xi32>) {
  // expected-error@+1 {{[case_c1] 'stablehlo.case' op needs at least one branch}}
  %0 = "stablehlo.case"(%a) : (tensor<i32>) -> tensor<f32>
  // expected-error@+1 {{[case_c2] 'stablehlo.case' op branch 1 must take nothing, but takes 1 values}}
  %1 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  // expected-error@+1 {{[case_c3] 'stablehlo.case' op branch 0 returns 1 values, but branch 1 returns 2}}
  %2 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b, %b : tensor<f32>, tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  // expected-error@+1 {{[case_c3] 'stablehlo.case' op value 0 of branch 0 has type tensor<3xf32>, but that of branch 1 has type tensor<4xf32>}}
  %3 = "stablehlo.case"(%a) ({
    stablehlo.return %c : tensor<3xf32>
  }, {
    stablehlo.return %d : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  // expected-error@+1 {{[case_c4] 'stablehlo.case' op result 0 has the inferred type tensor<f32>}}
  %4 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i32>) -> tensor<f64>
  // expected-error@+1 {{[case_c4] 'stablehlo.case' op infers 1 results, but has 2}}
  %5:2 = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i32>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{'stablehlo.case' op the condition must be a scalar, but has type tensor<1xi32>}}
  %6 = "stablehlo.case"(%e) ({
    stablehlo.return %b : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<1xi32>) -> tensor<f32>
  func.return
}
