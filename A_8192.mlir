
func.func public @main(%x: tensor<256x8192xi8>, %w: tensor<2048x8192xi8>, %u: tensor<128xf32>, %s: tensor<2048xf32>) -> tensor<128x2048xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<256x8192xi8>, tensor<2048x8192xi8>) -> tensor<256x2048xi32>
  %h = stablehlo.slice %d [0:128, 0:2048] : (tensor<256x2048xi32>) -> tensor<128x2048xi32>
  %l = stablehlo.slice %d [128:256, 0:2048] : (tensor<256x2048xi32>) -> tensor<128x2048xi32>
  %hf = stablehlo.convert %h : (tensor<128x2048xi32>) -> tensor<128x2048xf64>
  %lf = stablehlo.convert %l : (tensor<128x2048xi32>) -> tensor<128x2048xf64>
  %c = stablehlo.constant dense<256.0> : tensor<128x2048xf64>
  %h2 = stablehlo.multiply %hf, %c : tensor<128x2048xf64>
  %y = stablehlo.add %h2, %lf : tensor<128x2048xf64>
  %yf = stablehlo.convert %y : (tensor<128x2048xf64>) -> tensor<128x2048xf32>

  %ub = stablehlo.broadcast_in_dim %u, dims = [0] : (tensor<128xf32>) -> tensor<128x2048xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<2048xf32>) -> tensor<128x2048xf32>
  %m1 = stablehlo.multiply %yf, %ub : tensor<128x2048xf32>
  %m2 = stablehlo.multiply %m1, %sb : tensor<128x2048xf32>
  return %m2 : tensor<128x2048xf32>
}
