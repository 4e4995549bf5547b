// cast (tensor.cast): the same tensor, of which more or less is known.

// Sizes are forgotten and claimed again.
func.func @there_and_back() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi4>
  %a = tensor.cast %x : tensor<2x3xi4> to tensor<?x3xi4>
  %b = tensor.cast %a : tensor<?x3xi4> to tensor<?x?xi4>
  %r = tensor.cast %b : tensor<?x?xi4> to tensor<2x3xi4>
  check.expect_eq %r, %x : tensor<2x3xi4>
  func.return
}

// -----

// No elements, and a scalar.
func.func @shapes() {
  %none = stablehlo.constant dense<> : tensor<0x2xf64>
  %a = tensor.cast %none : tensor<0x2xf64> to tensor<?x2xf64>
  %r = tensor.cast %a : tensor<?x2xf64> to tensor<0x2xf64>
  check.expect_eq_const %r, dense<> : tensor<0x2xf64>
  %s = stablehlo.constant dense<true> : tensor<i1>
  %t = tensor.cast %s : tensor<i1> to tensor<i1>
  check.expect_eq_const %t, dense<true> : tensor<i1>
  func.return
}
