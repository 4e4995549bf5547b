// sharding_constraint (sdy): the sharding of a tensor; its value is the same.
// Also: reshard data_flow_edge propagation_barrier all_reduce reduce_scatter

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @value() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %r = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<2x2xbf16>
  %n = stablehlo.negate %r : tensor<2x2xbf16>
  %e = sdy.data_flow_edge %n sharding=<@mesh, [{"x", ?}, {?}]> : tensor<2x2xbf16>
  %b = sdy.propagation_barrier %e allowed_direction=FORWARD : tensor<2x2xbf16>
  %t = sdy.reshard %b <@mesh, [{}, {"y"}]> : tensor<2x2xbf16>
  // What Shardy's partitioner makes to move a value reads as a reshard.
  %1 = sdy.all_slice [{"x"}, {}] %t out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<2x2xbf16>
  %2 = sdy.all_gather [{}, {"y"}] %1 out_sharding=<@mesh, [{"x"}, {}]> : tensor<2x2xbf16>
  %3 = sdy.all_to_all [{"x"}: 0->1] %2 out_sharding=<@mesh, [{}, {"x"}]> : tensor<2x2xbf16>
  %4 = sdy.collective_permute %3 out_sharding=<@mesh, [{}, {"y"}]> : tensor<2x2xbf16>
  // A sum over partitions is one device's value, which all of them have a part of.
  %5 = sdy.replicated_to_unreduced {"x"} %4 out_sharding=<@mesh, [{}, {"y"}], unreduced={"x"}> : tensor<2x2xbf16>
  %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}, {"y"}]> : tensor<2x2xbf16>
  %7 = sdy.sharded_to_unreduced [{}, {"y"}] %6 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<2x2xbf16>
  %8 = sdy.reduce_scatter [{"y"}, {}] %7 out_sharding=<@mesh, [{"y"}, {}]> : tensor<2x2xbf16>
  %s = stablehlo.add %8, %x : tensor<2x2xbf16>
  check.expect_eq_const %s, dense<0.0> : tensor<2x2xbf16>
  func.return
}
