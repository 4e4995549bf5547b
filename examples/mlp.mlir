// A perceptron with one hidden layer on a batch of 8 rows: softmax(relu(x · w1 + b1) · w2 + b2).
module @mlp {
  func.func @main(%w1: tensor<64x128xf32> loc("w1"), %b1: tensor<128xf32> loc("b1"), %w2: tensor<128x10xf32> loc("w2"),
                  %b2: tensor<10xf32> loc("b2"), %x: tensor<8x64xf32> loc("x"))
      -> (tensor<8x10xf32> {jax.result_info = "probabilities"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
         : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
    %1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<128xf32>) -> tensor<8x128xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x128xf32>
    %3 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x128xf32>
    %hidden = stablehlo.maximum %2, %3 : tensor<8x128xf32>
    %4 = stablehlo.dot_general %hidden, %w2, contracting_dims = [1] x [0]
         : (tensor<8x128xf32>, tensor<128x10xf32>) -> tensor<8x10xf32>
    %5 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<10xf32>) -> tensor<8x10xf32>
    %logits = stablehlo.add %4, %5 : tensor<8x10xf32>
    %max = stablehlo.reduce(%logits init: %least) applies stablehlo.maximum across dimensions = [1]
         : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %6 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %7 = stablehlo.subtract %logits, %6 : tensor<8x10xf32>
    %8 = stablehlo.exponential %7 : tensor<8x10xf32>
    %sum = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [1]
         : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %9 = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %probabilities = stablehlo.divide %8, %9 : tensor<8x10xf32>
    return %probabilities : tensor<8x10xf32>
  }
}
