module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
    %3 = sdy.reshard %2 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %4 = sdy.reshard %3 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %5 = sdy.reshard %4 <@mesh, [{}, {"y"}], unreduced={"x"}> : tensor<8x8xf32>
    %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %7 = sdy.reduce_scatter [{"x"}, {}] %5 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %8 = sdy.reshard %7 <@mesh, [{}, {"y"}], unreduced={"x"}> : tensor<8x8xf32>
    %9 = sdy.all_reduce {"x"} %8 out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    return %9 : tensor<8x8xf32>
  }
}
