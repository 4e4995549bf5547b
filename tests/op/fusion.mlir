// fusion: what its region computes of the operands.

func.func @several_results() {
  %a = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
  %b = stablehlo.constant dense<[3, 1]> : tensor<2xi64>
  %0:2 = "mhlo.fusion"(%a, %b) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%x: tensor<2xi64>, %y: tensor<2xi64>):
    %d = stablehlo.subtract %x, %y : tensor<2xi64>
    %q = stablehlo.multiply %d, %d : tensor<2xi64>
    stablehlo.return %q, %y : tensor<2xi64>, tensor<2xi64>
  }) : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %0#0, dense<[4, 25]> : tensor<2xi64>
  check.expect_eq_const %0#1, dense<[3, 1]> : tensor<2xi64>
  func.return
}

func.func @nested_and_repeated() {
  %a = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = "mhlo.fusion"(%a, %a) <{fusion_kind = #mhlo<fusion_kind kInput>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %i = "mhlo.fusion"(%x) <{fusion_kind = #mhlo<fusion_kind kOutput>}> ({
    ^bb0(%z: tensor<f32>):
      %n = stablehlo.negate %z : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %s = stablehlo.add %i, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %0, dense<0.0> : tensor<f32>
  func.return
}
