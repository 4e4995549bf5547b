// Constraints of fusion.
func.func @count(%a: tensor<f32>) {
  // expected-error@+1 {{'mhlo.fusion' op the computation must take 1 values, but takes 0}}
  %0 = "mhlo.fusion"(%a) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
    %c = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @types(%a: tensor<f32>) {
  // expected-error@+1 {{'mhlo.fusion' op argument 0 of the computation has type tensor<i32>, but operand 0 has type tensor<f32>}}
  %0 = "mhlo.fusion"(%a) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%x: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<f32>) -> tensor<i32>
  func.return
}

// -----

func.func @results(%a: tensor<f32>) {
  // expected-error@+1 {{'mhlo.fusion' op result 0 has the inferred type tensor<f32>}}
  %0 = "mhlo.fusion"(%a) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<f32>) -> tensor<i32>
  func.return
}

// -----

func.func @kind(%a: tensor<f32>) {
  // expected-error@+1 {{'mhlo.fusion' op requires attribute 'fusion_kind'}}
  %0 = "mhlo.fusion"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  func.return
}
