
func.func public @main(%x0: tensor<128x2048xi16>, %w0: tensor<8192x2048xi8>, %u: tensor<128xf32>, %s: tensor<8192xf32>) -> tensor<128x8192xf32> {
  %x = stablehlo.reshape %x0 : (tensor<128x2048xi16>) -> tensor<128x4x512xi16>
  %w1 = stablehlo.convert %w0 : (tensor<8192x2048xi8>) -> tensor<8192x2048xi16>
  %w = stablehlo.reshape %w1 : (tensor<8192x2048xi16>) -> tensor<8192x4x512xi16>
  %d = stablehlo.dot_general %x, %w, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<128x4x512xi16>, tensor<8192x4x512xi16>) -> tensor<4x128x8192xi32>
  %df = stablehlo.convert %d : (tensor<4x128x8192xi32>) -> tensor<4x128x8192xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %y = stablehlo.reduce(%df init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x128x8192xf64>, tensor<f64>) -> tensor<128x8192xf64>
  %yf = stablehlo.convert %y : (tensor<128x8192xf64>) -> tensor<128x8192xf32>

  %ub = stablehlo.broadcast_in_dim %u, dims = [0] : (tensor<128xf32>) -> tensor<128x8192xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8192xf32>) -> tensor<128x8192xf32>
  %m1 = stablehlo.multiply %yf, %ub : tensor<128x8192xf32>
  %m2 = stablehlo.multiply %m1, %sb : tensor<128x8192xf32>
  return %m2 : tensor<128x8192xf32>
}
