// Products of integers in f64 are summed exactly: in 32 bits as far as those hold the largest, of words as far as they are numbers
// of 16 and 8 bits, and otherwise in f64.
func.func @words() {
  %x0 = stablehlo.iota dim = 0 : tensor<28600xi32>
  %x1 = stablehlo.constant dense<40503> : tensor<28600xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<28600xi32>
  %x3 = stablehlo.convert %x2 : (tensor<28600xi32>) -> tensor<28600xi16>
  %x4 = stablehlo.reshape %x3 : (tensor<28600xi16>) -> tensor<26x1100xi16>
  %x5 = stablehlo.slice %x4 [1:26, 0:1100] : (tensor<26x1100xi16>) -> tensor<25x1100xi16>
  %x6 = stablehlo.constant dense<-32768> : tensor<1x1100xi16>
  %x7 = stablehlo.concatenate %x6, %x5, dim = 0 : (tensor<1x1100xi16>, tensor<25x1100xi16>) -> tensor<26x1100xi16>
  %x = stablehlo.optimization_barrier %x7 : tensor<26x1100xi16>
  %w0 = stablehlo.iota dim = 0 : tensor<26400xi32>
  %w1 = stablehlo.constant dense<91> : tensor<26400xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<26400xi32>
  %w3 = stablehlo.convert %w2 : (tensor<26400xi32>) -> tensor<26400xi8>
  %w4 = stablehlo.reshape %w3 : (tensor<26400xi8>) -> tensor<24x1100xi8>
  %w5 = stablehlo.slice %w4 [1:24, 0:1100] : (tensor<24x1100xi8>) -> tensor<23x1100xi8>
  %w6 = stablehlo.constant dense<-128> : tensor<1x1100xi8>
  %w7 = stablehlo.concatenate %w6, %w5, dim = 0 : (tensor<1x1100xi8>, tensor<23x1100xi8>) -> tensor<24x1100xi8>
  %w = stablehlo.optimization_barrier %w7 : tensor<24x1100xi8>
  %xf = stablehlo.convert %x : (tensor<26x1100xi16>) -> tensor<26x1100xf64>
  %wf = stablehlo.convert %w : (tensor<24x1100xi8>) -> tensor<24x1100xf64>
  %y = stablehlo.dot_general %xf, %wf, contracting_dims = [1] x [1] : (tensor<26x1100xf64>, tensor<24x1100xf64>) -> tensor<26x24xf64>
  %xi = stablehlo.convert %x : (tensor<26x1100xi16>) -> tensor<26x1100xi64>
  %wi = stablehlo.convert %w : (tensor<24x1100xi8>) -> tensor<24x1100xi64>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<26x1100xi64>) -> tensor<26x24x1100xi64>
  %e1 = stablehlo.broadcast_in_dim %wi, dims = [1, 2] : (tensor<24x1100xi64>) -> tensor<26x24x1100xi64>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<26x24x1100xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %s = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<26x24x1100xi64>, tensor<i64>) -> tensor<26x24xi64>
  %z = stablehlo.convert %s : (tensor<26x24xi64>) -> tensor<26x24xf64>
  check.expect_eq %y, %z : tensor<26x24xf64>
  return
}

// -----

func.func @bytes() {
  %x0 = stablehlo.iota dim = 0 : tensor<7525xi32>
  %x1 = stablehlo.constant dense<37> : tensor<7525xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<7525xi32>
  %x3 = stablehlo.convert %x2 : (tensor<7525xi32>) -> tensor<7525xi8>
  %x4 = stablehlo.reshape %x3 : (tensor<7525xi8>) -> tensor<25x301xi8>
  %x5 = stablehlo.slice %x4 [1:25, 0:301] : (tensor<25x301xi8>) -> tensor<24x301xi8>
  %x6 = stablehlo.constant dense<-128> : tensor<1x301xi8>
  %x7 = stablehlo.concatenate %x6, %x5, dim = 0 : (tensor<1x301xi8>, tensor<24x301xi8>) -> tensor<25x301xi8>
  %x = stablehlo.optimization_barrier %x7 : tensor<25x301xi8>
  %w0 = stablehlo.iota dim = 0 : tensor<6020xi32>
  %w1 = stablehlo.constant dense<91> : tensor<6020xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<6020xi32>
  %w3 = stablehlo.convert %w2 : (tensor<6020xi32>) -> tensor<6020xi8>
  %w4 = stablehlo.reshape %w3 : (tensor<6020xi8>) -> tensor<20x301xi8>
  %w5 = stablehlo.slice %w4 [1:20, 0:301] : (tensor<20x301xi8>) -> tensor<19x301xi8>
  %w6 = stablehlo.constant dense<-128> : tensor<1x301xi8>
  %w7 = stablehlo.concatenate %w6, %w5, dim = 0 : (tensor<1x301xi8>, tensor<19x301xi8>) -> tensor<20x301xi8>
  %w = stablehlo.optimization_barrier %w7 : tensor<20x301xi8>
  %xf = stablehlo.convert %x : (tensor<25x301xi8>) -> tensor<25x301xf64>
  %wf = stablehlo.convert %w : (tensor<20x301xi8>) -> tensor<20x301xf64>
  %y = stablehlo.dot_general %xf, %wf, contracting_dims = [1] x [1] : (tensor<25x301xf64>, tensor<20x301xf64>) -> tensor<25x20xf64>
  %xi = stablehlo.convert %x : (tensor<25x301xi8>) -> tensor<25x301xi64>
  %wi = stablehlo.convert %w : (tensor<20x301xi8>) -> tensor<20x301xi64>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<25x301xi64>) -> tensor<25x20x301xi64>
  %e1 = stablehlo.broadcast_in_dim %wi, dims = [1, 2] : (tensor<20x301xi64>) -> tensor<25x20x301xi64>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<25x20x301xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %s = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<25x20x301xi64>, tensor<i64>) -> tensor<25x20xi64>
  %z = stablehlo.convert %s : (tensor<25x20xi64>) -> tensor<25x20xf64>
  check.expect_eq %y, %z : tensor<25x20xf64>
  return
}

// -----

func.func @one_slab() {
  %x0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %x1 = stablehlo.constant dense<40503> : tensor<2048xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<2048xi32>
  %x3 = stablehlo.convert %x2 : (tensor<2048xi32>) -> tensor<2048xi16>
  %x4 = stablehlo.reshape %x3 : (tensor<2048xi16>) -> tensor<32x64xi16>
  %x5 = stablehlo.slice %x4 [1:32, 0:64] : (tensor<32x64xi16>) -> tensor<31x64xi16>
  %x6 = stablehlo.constant dense<-32768> : tensor<1x64xi16>
  %x7 = stablehlo.concatenate %x6, %x5, dim = 0 : (tensor<1x64xi16>, tensor<31x64xi16>) -> tensor<32x64xi16>
  %x = stablehlo.optimization_barrier %x7 : tensor<32x64xi16>
  %w0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %w1 = stablehlo.constant dense<91> : tensor<2048xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<2048xi32>
  %w3 = stablehlo.convert %w2 : (tensor<2048xi32>) -> tensor<2048xi8>
  %w4 = stablehlo.reshape %w3 : (tensor<2048xi8>) -> tensor<32x64xi8>
  %w5 = stablehlo.slice %w4 [1:32, 0:64] : (tensor<32x64xi8>) -> tensor<31x64xi8>
  %w6 = stablehlo.constant dense<-128> : tensor<1x64xi8>
  %w7 = stablehlo.concatenate %w6, %w5, dim = 0 : (tensor<1x64xi8>, tensor<31x64xi8>) -> tensor<32x64xi8>
  %w = stablehlo.optimization_barrier %w7 : tensor<32x64xi8>
  %xf = stablehlo.convert %x : (tensor<32x64xi16>) -> tensor<32x64xf64>
  %wf = stablehlo.convert %w : (tensor<32x64xi8>) -> tensor<32x64xf64>
  %y = stablehlo.dot_general %xf, %wf, contracting_dims = [1] x [1] : (tensor<32x64xf64>, tensor<32x64xf64>) -> tensor<32x32xf64>
  %xi = stablehlo.convert %x : (tensor<32x64xi16>) -> tensor<32x64xi64>
  %wi = stablehlo.convert %w : (tensor<32x64xi8>) -> tensor<32x64xi64>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<32x64xi64>) -> tensor<32x32x64xi64>
  %e1 = stablehlo.broadcast_in_dim %wi, dims = [1, 2] : (tensor<32x64xi64>) -> tensor<32x32x64xi64>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<32x32x64xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %s = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x32x64xi64>, tensor<i64>) -> tensor<32x32xi64>
  %z = stablehlo.convert %s : (tensor<32x32xi64>) -> tensor<32x32xf64>
  check.expect_eq %y, %z : tensor<32x32xf64>
  return
}

// -----

func.func @too_large() {
  %x0 = stablehlo.iota dim = 0 : tensor<3380xi32>
  %x1 = stablehlo.constant dense<104729> : tensor<3380xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<3380xi32>
  %x3 = stablehlo.convert %x2 : (tensor<3380xi32>) -> tensor<3380xi32>
  %x4 = stablehlo.reshape %x3 : (tensor<3380xi32>) -> tensor<26x130xi32>
  %x5 = stablehlo.slice %x4 [1:26, 0:130] : (tensor<26x130xi32>) -> tensor<25x130xi32>
  %x6 = stablehlo.constant dense<-2147483648> : tensor<1x130xi32>
  %x7 = stablehlo.concatenate %x6, %x5, dim = 0 : (tensor<1x130xi32>, tensor<25x130xi32>) -> tensor<26x130xi32>
  %x = stablehlo.optimization_barrier %x7 : tensor<26x130xi32>
  %w0 = stablehlo.iota dim = 0 : tensor<3120xi32>
  %w1 = stablehlo.constant dense<91> : tensor<3120xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<3120xi32>
  %w3 = stablehlo.convert %w2 : (tensor<3120xi32>) -> tensor<3120xi8>
  %w4 = stablehlo.reshape %w3 : (tensor<3120xi8>) -> tensor<24x130xi8>
  %w5 = stablehlo.slice %w4 [1:24, 0:130] : (tensor<24x130xi8>) -> tensor<23x130xi8>
  %w6 = stablehlo.constant dense<-128> : tensor<1x130xi8>
  %w7 = stablehlo.concatenate %w6, %w5, dim = 0 : (tensor<1x130xi8>, tensor<23x130xi8>) -> tensor<24x130xi8>
  %w = stablehlo.optimization_barrier %w7 : tensor<24x130xi8>
  %xf = stablehlo.convert %x : (tensor<26x130xi32>) -> tensor<26x130xf64>
  %wf = stablehlo.convert %w : (tensor<24x130xi8>) -> tensor<24x130xf64>
  %y = stablehlo.dot_general %xf, %wf, contracting_dims = [1] x [1] : (tensor<26x130xf64>, tensor<24x130xf64>) -> tensor<26x24xf64>
  %xi = stablehlo.convert %x : (tensor<26x130xi32>) -> tensor<26x130xi64>
  %wi = stablehlo.convert %w : (tensor<24x130xi8>) -> tensor<24x130xi64>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<26x130xi64>) -> tensor<26x24x130xi64>
  %e1 = stablehlo.broadcast_in_dim %wi, dims = [1, 2] : (tensor<24x130xi64>) -> tensor<26x24x130xi64>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<26x24x130xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %s = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<26x24x130xi64>, tensor<i64>) -> tensor<26x24xi64>
  %z = stablehlo.convert %s : (tensor<26x24xi64>) -> tensor<26x24xf64>
  check.expect_eq %y, %z : tensor<26x24xf64>
  return
}
