func.func @select(%p: tensor<i1>, %q: tensor<?xi1>, %a: tensor<2xf32>, %b: tensor<?xf32>) -> tensor<2xf32> {
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  %1 = stablehlo.select %q, %0, %b : (tensor<?xi1>, tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

func.func @predicate(%p: tensor<3xi1>, %a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[select_c1] 'stablehlo.select' op the predicate must be a scalar or have the shape [2] of the branches, but has [3]}}
  %0 = stablehlo.select %p, %a, %a : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @branches(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf64>, %c: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[select_c2] 'stablehlo.select' op both branches must have compatible types}}
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  // expected-error@+1 {{[select_c2] 'stablehlo.select' op both branches must have compatible types}}
  %1 = stablehlo.select %p, %a, %c : (tensor<i1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

func.func @result(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{[select_c2] 'stablehlo.select' op result 0}}
  %0 = stablehlo.select %p, %a, %a : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
