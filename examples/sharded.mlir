// The perceptron of mlp.mlir for four devices: two share the batch, and two share the hidden layer.
// `hilo explain --partition` shows what is divided, and the one collective that adds up the logits.
module @sharded {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%w1: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %w2: tensor<128x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                  %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
      -> (tensor<8x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<8x128xf32>
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
         : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
    %hidden = stablehlo.maximum %0, %zero : tensor<8x128xf32>
    %logits = stablehlo.dot_general %hidden, %w2, contracting_dims = [1] x [0]
         : (tensor<8x128xf32>, tensor<128x10xf32>) -> tensor<8x10xf32>
    return %logits : tensor<8x10xf32>
  }
}
