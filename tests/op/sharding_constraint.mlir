// sharding_constraint (sdy): the sharding of a tensor; its value is the same.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @value() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %r = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<2x2xbf16>
  %s = stablehlo.add %r, %x : tensor<2x2xbf16>
  check.expect_eq_const %s, dense<[[2.0, 4.0], [6.0, 8.0]]> : tensor<2x2xbf16>
  func.return
}
