func.func @modes(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.exponential"(%a) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.tan"(%0) {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

func.func @tolerance_and_mode(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{tolerances must be zero unless the mode is TOLERANCE}}
  %0 = "stablehlo.log"(%a) {result_accuracy = #stablehlo.result_accuracy<ulps = 1, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @negative(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{tolerances must not be negative}}
  %0 = "stablehlo.log"(%a) {result_accuracy = #stablehlo.result_accuracy<atol = -1.0, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
