// meshes that are written where they are used get names; equal ones become the first of them
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh_0 = <["x"=2], device_ids=[1, 0]>
sdy.mesh @copy = <["x"=2, "y"=4]>
func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<[]>, [{?}, {?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@copy, [{"x"}, {?}]>]>} : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <mesh<["x"=8]>, [{}, {"x"}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// ----- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @mesh_0 = <["x"=2], device_ids=[1, 0]>
  sdy.mesh @copy = <["x"=2, "y"=4]>
  sdy.mesh @mesh_1 = <["x"=8]>
  sdy.mesh @empty_mesh = <[]>
  func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{?}, {?}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh_1, [{}, {"x"}]> : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
