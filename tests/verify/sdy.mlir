// Shardings are read with the module: meshes, axes, ranks, numbers of values.
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @order = <["x"=4], device_ids=[3, 2, 1, 0]>

func.func @sound(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}p1]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@order, [{"x"}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}], replicated={"y"}>}) {
  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : tensor<8x6xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {?}]> : tensor<8x6xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%c: tensor<2x6xf32>) {
    sdy.return %c : tensor<2x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error@+1 {{has a sharding along what is no axis of its mesh, 'z'}}
func.func @axis(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>}) {
  return
}

// -----

// expected-error@+1 {{has a sharding over what is no mesh, 'mesh'}}
func.func @mesh_of_none(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error@+1 {{that uses twice axis 'x'}}
func.func @twice(%a: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) {
  return %a : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @part(%a: tensor<8xf32>) {
  // expected-error@+1 {{along a part that is none of axis 'x'}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(3)2}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @rank(%a: tensor<8xf32>) {
  // expected-error@+1 {{has a sharding with '>]>' where as many dimensions as the value has is expected}}
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @values(%a: tensor<8xf32>) {
  // expected-error@+1 {{has a sharding with ', <@mesh, [{"x"}]>]>' where ]> is expected}}
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>]>} : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @rule(%a: tensor<8xf32>) {
  // expected-error@+1 {{has a sharding with '>' where factors of each dimension of each tensor is expected}}
  %0 = stablehlo.negate %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=1}>} : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @manual(%a: tensor<8xf32>) {
  // expected-error@+1 {{has a sharding along what is no axis of its mesh, 'y'}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @manual_twice(%a: tensor<8xf32>) {
  // expected-error@+1 {{that uses twice axis 'x'}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x", "x", "x"} (%b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{over a mesh with two axes}}
sdy.mesh @mesh = <["x"=4, "x"=2]>

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @empty(%a: tensor<0xf32>) {
  %0 = stablehlo.negate %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=0}>} : tensor<0xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=1, "y"=4]>
// expected-error@+1 {{that uses twice axis 'x'}}
func.func @twice_of_one(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "x"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
// expected-error@+1 {{along a part that is none of axis 'x'}}
func.func @part_of_one(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)1}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @reduced(%a: tensor<8x6xf32>) {
  %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x6xf32>
  %1 = sdy.reduce_scatter min [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x6xf32>
  %2 = "sdy.all_reduce"(%a) <{out_sharding = #sdy.sharding<@mesh, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"x", "y"}>, reduction_op = 1 : i32}> : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @divided_by_reduced(%a: tensor<8xf32>) {
  // expected-error@+1 {{that uses twice axis 'x'}}
  %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @unreduced_by_reduced(%a: tensor<8xf32>) {
  // expected-error@+1 {{that uses twice axis 'x'}}
  %0 = sdy.reduce_scatter [{"x"}] %a out_sharding=<@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @lists(%a: tensor<8x8xf32>) {
  // expected-error@+1 {{where one list of axes for each dimension is expected}}
  %0 = sdy.reduce_scatter [{"x"}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  return
}
