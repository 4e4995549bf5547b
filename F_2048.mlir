
func.func public @main(%x0: tensor<128x2048xbf16>, %w0: tensor<8192x2048xbf16>, %u: tensor<128xf32>, %s: tensor<8192xf32>) -> tensor<128x8192xf32> {
  %yf = stablehlo.dot_general %x0, %w0, contracting_dims = [1] x [1] : (tensor<128x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<128x8192xf32>

  %ub = stablehlo.broadcast_in_dim %u, dims = [0] : (tensor<128xf32>) -> tensor<128x8192xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8192xf32>) -> tensor<128x8192xf32>
  %m1 = stablehlo.multiply %yf, %ub : tensor<128x8192xf32>
  %m2 = stablehlo.multiply %m1, %sb : tensor<128x8192xf32>
  return %m2 : tensor<128x8192xf32>
}
