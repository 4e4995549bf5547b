
func.func public @main(%x: tensor<256x2048xi8>, %w: tensor<8192x2048xi8>, %u: tensor<128xf32>, %s: tensor<8192xf32>) -> tensor<128x8192xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<256x2048xi8>, tensor<8192x2048xi8>) -> tensor<256x8192xi32>
  %h = stablehlo.slice %d [0:128, 0:8192] : (tensor<256x8192xi32>) -> tensor<128x8192xi32>
  %l = stablehlo.slice %d [128:256, 0:8192] : (tensor<256x8192xi32>) -> tensor<128x8192xi32>
  %hf = stablehlo.convert %h : (tensor<128x8192xi32>) -> tensor<128x8192xf64>
  %lf = stablehlo.convert %l : (tensor<128x8192xi32>) -> tensor<128x8192xf64>
  %c = stablehlo.constant dense<256.0> : tensor<128x8192xf64>
  %h2 = stablehlo.multiply %hf, %c : tensor<128x8192xf64>
  %y = stablehlo.add %h2, %lf : tensor<128x8192xf64>
  %yf = stablehlo.convert %y : (tensor<128x8192xf64>) -> tensor<128x8192xf32>

  %ub = stablehlo.broadcast_in_dim %u, dims = [0] : (tensor<128xf32>) -> tensor<128x8192xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8192xf32>) -> tensor<128x8192xf32>
  %m1 = stablehlo.multiply %yf, %ub : tensor<128x8192xf32>
  %m2 = stablehlo.multiply %m1, %sb : tensor<128x8192xf32>
  return %m2 : tensor<128x8192xf32>
}
