func.func @checks(%a: tensor<2xf32>) {
  check.expect_eq %a, %a : tensor<2xf32>
  check.expect_eq_const %a, dense<1.0> : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<1.0> : tensor<2xf32>
  func.return
}

// -----

func.func @checks(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{operands must have one type, but have tensor<2xf32> and tensor<3xf32>}}
  "check.expect_eq"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> ()
  // expected-error@+1 {{operand 0 must be a tensor of floats or complex numbers, but is tensor<2xi32>}}
  "check.expect_almost_eq"(%c, %c) : (tensor<2xi32>, tensor<2xi32>) -> ()
  // expected-error@+1 {{operand and value must have one type, but have tensor<2xf32> and tensor<2xi32>}}
  "check.expect_eq_const"(%a) {value = dense<1> : tensor<2xi32>} : (tensor<2xf32>) -> ()
  func.return
}
