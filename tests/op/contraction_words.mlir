// Matrices that are contiguous along the sum, of 8 or 4 bits, times as many rows as pay for packing them: squares of 32-bit words
// are transposed, and the rest after the last square.
func.func @i8_squares() {
  %x0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %x1 = stablehlo.constant dense<37> : tensor<5120xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<5120xi32>
  %x3 = stablehlo.constant dense<255> : tensor<5120xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<5120xi32>
  %x5 = stablehlo.constant dense<127> : tensor<5120xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<5120xi32>
  %x7 = stablehlo.convert %x6 : (tensor<5120xi32>) -> tensor<5120xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<5120xi8>) -> tensor<40x128xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<40x128xi8>
  %w0 = stablehlo.iota dim = 0 : tensor<12288xi32>
  %w1 = stablehlo.constant dense<91> : tensor<12288xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<12288xi32>
  %w3 = stablehlo.constant dense<256> : tensor<12288xi32>
  %w4 = stablehlo.remainder %w2, %w3 : tensor<12288xi32>
  %w5 = stablehlo.constant dense<128> : tensor<12288xi32>
  %w6 = stablehlo.subtract %w4, %w5 : tensor<12288xi32>
  %w7 = stablehlo.convert %w6 : (tensor<12288xi32>) -> tensor<12288xi8>
  %w8 = stablehlo.reshape %w7 : (tensor<12288xi8>) -> tensor<96x128xi8>
  %w = stablehlo.optimization_barrier %w8 : tensor<96x128xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<40x128xi8>, tensor<96x128xi8>) -> tensor<40x96xi32>
  %xi = stablehlo.convert %x : (tensor<40x128xi8>) -> tensor<40x128xi32>
  %v = stablehlo.optimization_barrier %w : tensor<96x128xi8>
  %vi = stablehlo.convert %v : (tensor<96x128xi8>) -> tensor<96x128xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<40x128xi32>) -> tensor<40x96x128xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<96x128xi32>) -> tensor<40x96x128xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<40x96x128xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<40x96x128xi32>, tensor<i32>) -> tensor<40x96xi32>
  check.expect_eq %y, %z : tensor<40x96xi32>
  return
}

// -----

func.func @i8_rest() {
  %x0 = stablehlo.iota dim = 0 : tensor<6732xi32>
  %x1 = stablehlo.constant dense<37> : tensor<6732xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<6732xi32>
  %x3 = stablehlo.constant dense<255> : tensor<6732xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<6732xi32>
  %x5 = stablehlo.constant dense<127> : tensor<6732xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<6732xi32>
  %x7 = stablehlo.convert %x6 : (tensor<6732xi32>) -> tensor<6732xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<6732xi8>) -> tensor<33x204xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<33x204xi8>
  %w0 = stablehlo.iota dim = 0 : tensor<14280xi32>
  %w1 = stablehlo.constant dense<91> : tensor<14280xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<14280xi32>
  %w3 = stablehlo.constant dense<256> : tensor<14280xi32>
  %w4 = stablehlo.remainder %w2, %w3 : tensor<14280xi32>
  %w5 = stablehlo.constant dense<128> : tensor<14280xi32>
  %w6 = stablehlo.subtract %w4, %w5 : tensor<14280xi32>
  %w7 = stablehlo.convert %w6 : (tensor<14280xi32>) -> tensor<14280xi8>
  %w8 = stablehlo.reshape %w7 : (tensor<14280xi8>) -> tensor<70x204xi8>
  %w = stablehlo.optimization_barrier %w8 : tensor<70x204xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<33x204xi8>, tensor<70x204xi8>) -> tensor<33x70xi32>
  %xi = stablehlo.convert %x : (tensor<33x204xi8>) -> tensor<33x204xi32>
  %v = stablehlo.optimization_barrier %w : tensor<70x204xi8>
  %vi = stablehlo.convert %v : (tensor<70x204xi8>) -> tensor<70x204xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<33x204xi32>) -> tensor<33x70x204xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<70x204xi32>) -> tensor<33x70x204xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<33x70x204xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<33x70x204xi32>, tensor<i32>) -> tensor<33x70xi32>
  check.expect_eq %y, %z : tensor<33x70xi32>
  return
}

// -----

func.func @i8_no_words() {
  %x0 = stablehlo.iota dim = 0 : tensor<1750xi32>
  %x1 = stablehlo.constant dense<37> : tensor<1750xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<1750xi32>
  %x3 = stablehlo.constant dense<255> : tensor<1750xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<1750xi32>
  %x5 = stablehlo.constant dense<127> : tensor<1750xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<1750xi32>
  %x7 = stablehlo.convert %x6 : (tensor<1750xi32>) -> tensor<1750xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<1750xi8>) -> tensor<25x70xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<25x70xi8>
  %w0 = stablehlo.iota dim = 0 : tensor<4480xi32>
  %w1 = stablehlo.constant dense<91> : tensor<4480xi32>
  %w2 = stablehlo.multiply %w0, %w1 : tensor<4480xi32>
  %w3 = stablehlo.constant dense<256> : tensor<4480xi32>
  %w4 = stablehlo.remainder %w2, %w3 : tensor<4480xi32>
  %w5 = stablehlo.constant dense<128> : tensor<4480xi32>
  %w6 = stablehlo.subtract %w4, %w5 : tensor<4480xi32>
  %w7 = stablehlo.convert %w6 : (tensor<4480xi32>) -> tensor<4480xi8>
  %w8 = stablehlo.reshape %w7 : (tensor<4480xi8>) -> tensor<64x70xi8>
  %w = stablehlo.optimization_barrier %w8 : tensor<64x70xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<25x70xi8>, tensor<64x70xi8>) -> tensor<25x64xi32>
  %xi = stablehlo.convert %x : (tensor<25x70xi8>) -> tensor<25x70xi32>
  %v = stablehlo.optimization_barrier %w : tensor<64x70xi8>
  %vi = stablehlo.convert %v : (tensor<64x70xi8>) -> tensor<64x70xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<25x70xi32>) -> tensor<25x64x70xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<64x70xi32>) -> tensor<25x64x70xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<25x64x70xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<25x64x70xi32>, tensor<i32>) -> tensor<25x64xi32>
  check.expect_eq %y, %z : tensor<25x64xi32>
  return
}

// -----

func.func @i4_squares() {
  %x0 = stablehlo.iota dim = 0 : tensor<10240xi32>
  %x1 = stablehlo.constant dense<37> : tensor<10240xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<10240xi32>
  %x3 = stablehlo.constant dense<255> : tensor<10240xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<10240xi32>
  %x5 = stablehlo.constant dense<127> : tensor<10240xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<10240xi32>
  %x7 = stablehlo.convert %x6 : (tensor<10240xi32>) -> tensor<10240xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<10240xi8>) -> tensor<40x256xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<40x256xi8>
  %p0 = stablehlo.iota dim = 0 : tensor<8192xi32>
  %p1 = stablehlo.constant dense<91> : tensor<8192xi32>
  %p2 = stablehlo.multiply %p0, %p1 : tensor<8192xi32>
  %p3 = stablehlo.constant dense<256> : tensor<8192xi32>
  %p4 = stablehlo.remainder %p2, %p3 : tensor<8192xi32>
  %p5 = stablehlo.constant dense<0> : tensor<8192xi32>
  %p6 = stablehlo.subtract %p4, %p5 : tensor<8192xi32>
  %p7 = stablehlo.convert %p6 : (tensor<8192xi32>) -> tensor<8192xui8>
  %p8 = stablehlo.reshape %p7 : (tensor<8192xui8>) -> tensor<64x128xui8>
  %p = stablehlo.optimization_barrier %p8 : tensor<64x128xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<512xi32>
  %s1 = stablehlo.constant dense<7> : tensor<512xi32>
  %s2 = stablehlo.multiply %s0, %s1 : tensor<512xi32>
  %s3 = stablehlo.constant dense<29> : tensor<512xi32>
  %s4 = stablehlo.remainder %s2, %s3 : tensor<512xi32>
  %s5 = stablehlo.constant dense<3> : tensor<512xi32>
  %s6 = stablehlo.subtract %s4, %s5 : tensor<512xi32>
  %s7 = stablehlo.convert %s6 : (tensor<512xi32>) -> tensor<512xf32>
  %s8 = stablehlo.reshape %s7 : (tensor<512xf32>) -> tensor<64x8xf32>
  %s = stablehlo.optimization_barrier %s8 : tensor<64x8xf32>
  %h = stablehlo.bitcast_convert %p : (tensor<64x128xui8>) -> tensor<64x128x2xi4>
  %h1 = stablehlo.reshape %h : (tensor<64x128x2xi4>) -> tensor<64x8x32xi4>
  %h2 = stablehlo.convert %h1 : (tensor<64x8x32xi4>) -> tensor<64x8x32xf32>
  %c = stablehlo.constant dense<0.53> : tensor<64x8xf32>
  %sc = stablehlo.multiply %s, %c : tensor<64x8xf32>
  %sb = stablehlo.broadcast_in_dim %sc, dims = [0, 1] : (tensor<64x8xf32>) -> tensor<64x8x32xf32>
  %h3 = stablehlo.multiply %h2, %sb : tensor<64x8x32xf32>
  %h4 = stablehlo.round_nearest_even %h3 : tensor<64x8x32xf32>
  %h5 = stablehlo.reshape %h4 : (tensor<64x8x32xf32>) -> tensor<64x256xf32>
  %w = stablehlo.convert %h5 : (tensor<64x256xf32>) -> tensor<64x256xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<40x256xi8>, tensor<64x256xi8>) -> tensor<40x64xi32>
  %xi = stablehlo.convert %x : (tensor<40x256xi8>) -> tensor<40x256xi32>
  %v = stablehlo.optimization_barrier %w : tensor<64x256xi8>
  %vi = stablehlo.convert %v : (tensor<64x256xi8>) -> tensor<64x256xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<40x256xi32>) -> tensor<40x64x256xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<64x256xi32>) -> tensor<40x64x256xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<40x64x256xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<40x64x256xi32>, tensor<i32>) -> tensor<40x64xi32>
  check.expect_eq %y, %z : tensor<40x64xi32>
  return
}

// -----

func.func @i4_rest() {
  %x0 = stablehlo.iota dim = 0 : tensor<10560xi32>
  %x1 = stablehlo.constant dense<37> : tensor<10560xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<10560xi32>
  %x3 = stablehlo.constant dense<255> : tensor<10560xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<10560xi32>
  %x5 = stablehlo.constant dense<127> : tensor<10560xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<10560xi32>
  %x7 = stablehlo.convert %x6 : (tensor<10560xi32>) -> tensor<10560xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<10560xi8>) -> tensor<33x320xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<33x320xi8>
  %p0 = stablehlo.iota dim = 0 : tensor<11200xi32>
  %p1 = stablehlo.constant dense<91> : tensor<11200xi32>
  %p2 = stablehlo.multiply %p0, %p1 : tensor<11200xi32>
  %p3 = stablehlo.constant dense<256> : tensor<11200xi32>
  %p4 = stablehlo.remainder %p2, %p3 : tensor<11200xi32>
  %p5 = stablehlo.constant dense<0> : tensor<11200xi32>
  %p6 = stablehlo.subtract %p4, %p5 : tensor<11200xi32>
  %p7 = stablehlo.convert %p6 : (tensor<11200xi32>) -> tensor<11200xui8>
  %p8 = stablehlo.reshape %p7 : (tensor<11200xui8>) -> tensor<70x160xui8>
  %p = stablehlo.optimization_barrier %p8 : tensor<70x160xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<700xi32>
  %s1 = stablehlo.constant dense<7> : tensor<700xi32>
  %s2 = stablehlo.multiply %s0, %s1 : tensor<700xi32>
  %s3 = stablehlo.constant dense<29> : tensor<700xi32>
  %s4 = stablehlo.remainder %s2, %s3 : tensor<700xi32>
  %s5 = stablehlo.constant dense<3> : tensor<700xi32>
  %s6 = stablehlo.subtract %s4, %s5 : tensor<700xi32>
  %s7 = stablehlo.convert %s6 : (tensor<700xi32>) -> tensor<700xf32>
  %s8 = stablehlo.reshape %s7 : (tensor<700xf32>) -> tensor<70x10xf32>
  %s = stablehlo.optimization_barrier %s8 : tensor<70x10xf32>
  %h = stablehlo.bitcast_convert %p : (tensor<70x160xui8>) -> tensor<70x160x2xi4>
  %h1 = stablehlo.reshape %h : (tensor<70x160x2xi4>) -> tensor<70x10x32xi4>
  %h2 = stablehlo.convert %h1 : (tensor<70x10x32xi4>) -> tensor<70x10x32xf32>
  %c = stablehlo.constant dense<0.53> : tensor<70x10xf32>
  %sc = stablehlo.multiply %s, %c : tensor<70x10xf32>
  %sb = stablehlo.broadcast_in_dim %sc, dims = [0, 1] : (tensor<70x10xf32>) -> tensor<70x10x32xf32>
  %h3 = stablehlo.multiply %h2, %sb : tensor<70x10x32xf32>
  %h4 = stablehlo.round_nearest_even %h3 : tensor<70x10x32xf32>
  %h5 = stablehlo.reshape %h4 : (tensor<70x10x32xf32>) -> tensor<70x320xf32>
  %w = stablehlo.convert %h5 : (tensor<70x320xf32>) -> tensor<70x320xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<33x320xi8>, tensor<70x320xi8>) -> tensor<33x70xi32>
  %xi = stablehlo.convert %x : (tensor<33x320xi8>) -> tensor<33x320xi32>
  %v = stablehlo.optimization_barrier %w : tensor<70x320xi8>
  %vi = stablehlo.convert %v : (tensor<70x320xi8>) -> tensor<70x320xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<33x320xi32>) -> tensor<33x70x320xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<70x320xi32>) -> tensor<33x70x320xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<33x70x320xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<33x70x320xi32>, tensor<i32>) -> tensor<33x70xi32>
  check.expect_eq %y, %z : tensor<33x70xi32>
  return
}

// -----

func.func @i4_slabs() {
  %x0 = stablehlo.iota dim = 0 : tensor<49152xi32>
  %x1 = stablehlo.constant dense<37> : tensor<49152xi32>
  %x2 = stablehlo.multiply %x0, %x1 : tensor<49152xi32>
  %x3 = stablehlo.constant dense<255> : tensor<49152xi32>
  %x4 = stablehlo.remainder %x2, %x3 : tensor<49152xi32>
  %x5 = stablehlo.constant dense<127> : tensor<49152xi32>
  %x6 = stablehlo.subtract %x4, %x5 : tensor<49152xi32>
  %x7 = stablehlo.convert %x6 : (tensor<49152xi32>) -> tensor<49152xi8>
  %x8 = stablehlo.reshape %x7 : (tensor<49152xi8>) -> tensor<24x2048xi8>
  %x = stablehlo.optimization_barrier %x8 : tensor<24x2048xi8>
  %p0 = stablehlo.iota dim = 0 : tensor<32768xi32>
  %p1 = stablehlo.constant dense<91> : tensor<32768xi32>
  %p2 = stablehlo.multiply %p0, %p1 : tensor<32768xi32>
  %p3 = stablehlo.constant dense<256> : tensor<32768xi32>
  %p4 = stablehlo.remainder %p2, %p3 : tensor<32768xi32>
  %p5 = stablehlo.constant dense<0> : tensor<32768xi32>
  %p6 = stablehlo.subtract %p4, %p5 : tensor<32768xi32>
  %p7 = stablehlo.convert %p6 : (tensor<32768xi32>) -> tensor<32768xui8>
  %p8 = stablehlo.reshape %p7 : (tensor<32768xui8>) -> tensor<32x1024xui8>
  %p = stablehlo.optimization_barrier %p8 : tensor<32x1024xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<1024xi32>
  %s1 = stablehlo.constant dense<7> : tensor<1024xi32>
  %s2 = stablehlo.multiply %s0, %s1 : tensor<1024xi32>
  %s3 = stablehlo.constant dense<29> : tensor<1024xi32>
  %s4 = stablehlo.remainder %s2, %s3 : tensor<1024xi32>
  %s5 = stablehlo.constant dense<3> : tensor<1024xi32>
  %s6 = stablehlo.subtract %s4, %s5 : tensor<1024xi32>
  %s7 = stablehlo.convert %s6 : (tensor<1024xi32>) -> tensor<1024xf32>
  %s8 = stablehlo.reshape %s7 : (tensor<1024xf32>) -> tensor<32x32xf32>
  %s = stablehlo.optimization_barrier %s8 : tensor<32x32xf32>
  %h = stablehlo.bitcast_convert %p : (tensor<32x1024xui8>) -> tensor<32x1024x2xi4>
  %h1 = stablehlo.reshape %h : (tensor<32x1024x2xi4>) -> tensor<32x32x64xi4>
  %h2 = stablehlo.convert %h1 : (tensor<32x32x64xi4>) -> tensor<32x32x64xf32>
  %c = stablehlo.constant dense<0.53> : tensor<32x32xf32>
  %sc = stablehlo.multiply %s, %c : tensor<32x32xf32>
  %sb = stablehlo.broadcast_in_dim %sc, dims = [0, 1] : (tensor<32x32xf32>) -> tensor<32x32x64xf32>
  %h3 = stablehlo.multiply %h2, %sb : tensor<32x32x64xf32>
  %h4 = stablehlo.round_nearest_even %h3 : tensor<32x32x64xf32>
  %h5 = stablehlo.reshape %h4 : (tensor<32x32x64xf32>) -> tensor<32x2048xf32>
  %w = stablehlo.convert %h5 : (tensor<32x2048xf32>) -> tensor<32x2048xi8>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<24x2048xi8>, tensor<32x2048xi8>) -> tensor<24x32xi32>
  %xi = stablehlo.convert %x : (tensor<24x2048xi8>) -> tensor<24x2048xi32>
  %v = stablehlo.optimization_barrier %w : tensor<32x2048xi8>
  %vi = stablehlo.convert %v : (tensor<32x2048xi8>) -> tensor<32x2048xi32>
  %e0 = stablehlo.broadcast_in_dim %xi, dims = [0, 2] : (tensor<24x2048xi32>) -> tensor<24x32x2048xi32>
  %e1 = stablehlo.broadcast_in_dim %vi, dims = [1, 2] : (tensor<32x2048xi32>) -> tensor<24x32x2048xi32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<24x32x2048xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<24x32x2048xi32>, tensor<i32>) -> tensor<24x32xi32>
  check.expect_eq %y, %z : tensor<24x32xi32>
  return
}

// -----

// i8, more columns than any block has threads
func.func @main() {
  %an = stablehlo.iota dim = 0 : tensor<15xi32>
  %ac = stablehlo.convert %an : (tensor<15xi32>) -> tensor<15xi8>
  %a = stablehlo.reshape %ac : (tensor<15xi8>) -> tensor<3x5xi8>
  %bn = stablehlo.iota dim = 0 : tensor<10500xi32>
  %bc = stablehlo.convert %bn : (tensor<10500xi32>) -> tensor<10500xi8>
  %b = stablehlo.reshape %bc : (tensor<10500xi8>) -> tensor<5x2100xi8>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<3x5xi8>, tensor<5x2100xi8>) -> tensor<3x2100xi8>
  %aw = stablehlo.convert %a : (tensor<3x5xi8>) -> tensor<3x5xi32>
  %bw = stablehlo.convert %b : (tensor<5x2100xi8>) -> tensor<5x2100xi32>
  %s = stablehlo.dot_general %aw, %bw, contracting_dims = [1] x [0]
      : (tensor<3x5xi32>, tensor<5x2100xi32>) -> tensor<3x2100xi32>
  %e = stablehlo.convert %s : (tensor<3x2100xi32>) -> tensor<3x2100xi8>
  check.expect_eq %r, %e : tensor<3x2100xi8>
  return
}
