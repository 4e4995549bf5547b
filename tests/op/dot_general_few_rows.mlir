// Few rows times a matrix (GEMV), large enough for schedules of their own. The numbers are small integers, so that sums are exact in
// any order; they are results of reductions, so that they are in memory.
func.func @f32_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<300xi32>
  %x1 = stablehlo.constant dense<7> : tensor<300xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<300xi32>
  %x3 = stablehlo.constant dense<3> : tensor<300xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<300xi32>
  %x5 = stablehlo.convert %x4 : (tensor<300xi32>) -> tensor<300xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x300xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<300xf32>) -> tensor<2x300xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x300xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x300xf32>, tensor<f32>) -> tensor<300xf32>
  %x = stablehlo.reshape %x10 : (tensor<300xf32>) -> tensor<1x300xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<12000xi32>
  %w1 = stablehlo.constant dense<11> : tensor<12000xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<12000xi32>
  %w3 = stablehlo.constant dense<5> : tensor<12000xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<12000xi32>
  %w5 = stablehlo.convert %w4 : (tensor<12000xi32>) -> tensor<12000xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x12000xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<12000xf32>) -> tensor<2x12000xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x12000xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x12000xf32>, tensor<f32>) -> tensor<12000xf32>
  %w = stablehlo.reshape %w10 : (tensor<12000xf32>) -> tensor<40x300xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<1x300xf32>, tensor<40x300xf32>) -> tensor<1x40xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<1x40xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x300xf32>) -> tensor<1x40x300xf32>
  %e1 = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<40x300xf32>) -> tensor<1x40x300xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x300xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x300xf32>, tensor<f32>) -> tensor<1x40xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<1x40xf32>
  check.expect_eq %y, %z : tensor<1x40xf32>
  return
}

// -----

func.func @f32_three() {
  %x0 = stablehlo.iota dim = 0 : tensor<771xi32>
  %x1 = stablehlo.constant dense<7> : tensor<771xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<771xi32>
  %x3 = stablehlo.constant dense<3> : tensor<771xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<771xi32>
  %x5 = stablehlo.convert %x4 : (tensor<771xi32>) -> tensor<771xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x771xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<771xf32>) -> tensor<2x771xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x771xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x771xf32>, tensor<f32>) -> tensor<771xf32>
  %x = stablehlo.reshape %x10 : (tensor<771xf32>) -> tensor<3x257xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<8481xi32>
  %w1 = stablehlo.constant dense<11> : tensor<8481xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<8481xi32>
  %w3 = stablehlo.constant dense<5> : tensor<8481xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<8481xi32>
  %w5 = stablehlo.convert %w4 : (tensor<8481xi32>) -> tensor<8481xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x8481xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<8481xf32>) -> tensor<2x8481xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x8481xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x8481xf32>, tensor<f32>) -> tensor<8481xf32>
  %w = stablehlo.reshape %w10 : (tensor<8481xf32>) -> tensor<33x257xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<3x257xf32>, tensor<33x257xf32>) -> tensor<3x33xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<3x33xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<3x257xf32>) -> tensor<3x33x257xf32>
  %e1 = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<33x257xf32>) -> tensor<3x33x257xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<3x33x257xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x33x257xf32>, tensor<f32>) -> tensor<3x33xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<3x33xf32>
  check.expect_eq %y, %z : tensor<3x33xf32>
  return
}

// -----

func.func @f32_eight() {
  %x0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %x1 = stablehlo.constant dense<7> : tensor<2048xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<2048xi32>
  %x3 = stablehlo.constant dense<3> : tensor<2048xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<2048xi32>
  %x5 = stablehlo.convert %x4 : (tensor<2048xi32>) -> tensor<2048xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x2048xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<2048xf32>) -> tensor<2x2048xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x2048xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %x = stablehlo.reshape %x10 : (tensor<2048xf32>) -> tensor<8x256xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %w1 = stablehlo.constant dense<11> : tensor<4096xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4096xi32>
  %w3 = stablehlo.constant dense<5> : tensor<4096xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4096xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4096xi32>) -> tensor<4096xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x4096xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4096xf32>) -> tensor<2x4096xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x4096xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %w = stablehlo.reshape %w10 : (tensor<4096xf32>) -> tensor<16x256xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<8x256xf32>, tensor<16x256xf32>) -> tensor<8x16xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<8x16xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<8x256xf32>) -> tensor<8x16x256xf32>
  %e1 = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<16x256xf32>) -> tensor<8x16x256xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<8x16x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x16x256xf32>, tensor<f32>) -> tensor<8x16xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<8x16xf32>
  check.expect_eq %y, %z : tensor<8x16xf32>
  return
}

// -----

func.func @bf16_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<260xi32>
  %x1 = stablehlo.constant dense<7> : tensor<260xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<260xi32>
  %x3 = stablehlo.constant dense<3> : tensor<260xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<260xi32>
  %x5 = stablehlo.convert %x4 : (tensor<260xi32>) -> tensor<260xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x260xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<260xf32>) -> tensor<2x260xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x260xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x260xf32>, tensor<f32>) -> tensor<260xf32>
  %x = stablehlo.reshape %x10 : (tensor<260xf32>) -> tensor<1x260xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<10660xi32>
  %w1 = stablehlo.constant dense<11> : tensor<10660xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<10660xi32>
  %w3 = stablehlo.constant dense<5> : tensor<10660xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<10660xi32>
  %w5 = stablehlo.convert %w4 : (tensor<10660xi32>) -> tensor<10660xbf16>
  %w6 = stablehlo.iota dim = 0 : tensor<2x10660xbf16>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<10660xbf16>) -> tensor<2x10660xbf16>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x10660xbf16>
  %w9 = stablehlo.constant dense<0.0> : tensor<bf16>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x10660xbf16>, tensor<bf16>) -> tensor<10660xbf16>
  %w = stablehlo.reshape %w10 : (tensor<10660xbf16>) -> tensor<41x260xbf16>
  %a = stablehlo.convert %x : (tensor<1x260xf32>) -> tensor<1x260xbf16>
  %y0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<1x260xbf16>, tensor<41x260xbf16>) -> tensor<1x41xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<1x41xf32>
  %v = stablehlo.convert %w : (tensor<41x260xbf16>) -> tensor<41x260xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x260xf32>) -> tensor<1x41x260xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<41x260xf32>) -> tensor<1x41x260xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x41x260xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x41x260xf32>, tensor<f32>) -> tensor<1x41xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<1x41xf32>
  check.expect_eq %y, %z : tensor<1x41xf32>
  return
}

// -----

func.func @bf16_five() {
  %x0 = stablehlo.iota dim = 0 : tensor<1000xi32>
  %x1 = stablehlo.constant dense<7> : tensor<1000xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<1000xi32>
  %x3 = stablehlo.constant dense<3> : tensor<1000xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<1000xi32>
  %x5 = stablehlo.convert %x4 : (tensor<1000xi32>) -> tensor<1000xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x1000xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<1000xf32>) -> tensor<2x1000xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x1000xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  %x = stablehlo.reshape %x10 : (tensor<1000xf32>) -> tensor<5x200xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4800xi32>
  %w1 = stablehlo.constant dense<11> : tensor<4800xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4800xi32>
  %w3 = stablehlo.constant dense<5> : tensor<4800xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4800xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4800xi32>) -> tensor<4800xbf16>
  %w6 = stablehlo.iota dim = 0 : tensor<2x4800xbf16>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4800xbf16>) -> tensor<2x4800xbf16>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x4800xbf16>
  %w9 = stablehlo.constant dense<0.0> : tensor<bf16>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x4800xbf16>, tensor<bf16>) -> tensor<4800xbf16>
  %w = stablehlo.reshape %w10 : (tensor<4800xbf16>) -> tensor<24x200xbf16>
  %a = stablehlo.convert %x : (tensor<5x200xf32>) -> tensor<5x200xbf16>
  %y0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<5x200xbf16>, tensor<24x200xbf16>) -> tensor<5x24xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<5x24xf32>
  %v = stablehlo.convert %w : (tensor<24x200xbf16>) -> tensor<24x200xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<5x200xf32>) -> tensor<5x24x200xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<24x200xf32>) -> tensor<5x24x200xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<5x24x200xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<5x24x200xf32>, tensor<f32>) -> tensor<5x24xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<5x24xf32>
  check.expect_eq %y, %z : tensor<5x24xf32>
  return
}

// -----

func.func @f16_two() {
  %x0 = stablehlo.iota dim = 0 : tensor<320xi32>
  %x1 = stablehlo.constant dense<7> : tensor<320xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<320xi32>
  %x3 = stablehlo.constant dense<3> : tensor<320xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<320xi32>
  %x5 = stablehlo.convert %x4 : (tensor<320xi32>) -> tensor<320xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x320xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<320xf32>) -> tensor<2x320xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x320xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x320xf32>, tensor<f32>) -> tensor<320xf32>
  %x = stablehlo.reshape %x10 : (tensor<320xf32>) -> tensor<2x160xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %w1 = stablehlo.constant dense<11> : tensor<5120xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5120xi32>
  %w3 = stablehlo.constant dense<5> : tensor<5120xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<5120xi32>
  %w5 = stablehlo.convert %w4 : (tensor<5120xi32>) -> tensor<5120xf16>
  %w6 = stablehlo.iota dim = 0 : tensor<2x5120xf16>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5120xf16>) -> tensor<2x5120xf16>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x5120xf16>
  %w9 = stablehlo.constant dense<0.0> : tensor<f16>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xf16>, tensor<f16>) -> tensor<5120xf16>
  %w = stablehlo.reshape %w10 : (tensor<5120xf16>) -> tensor<32x160xf16>
  %a = stablehlo.convert %x : (tensor<2x160xf32>) -> tensor<2x160xf16>
  %y0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<2x160xf16>, tensor<32x160xf16>) -> tensor<2x32xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<2x32xf32>
  %v = stablehlo.convert %w : (tensor<32x160xf16>) -> tensor<32x160xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x160xf32>) -> tensor<2x32x160xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<32x160xf32>) -> tensor<2x32x160xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<2x32x160xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x160xf32>, tensor<f32>) -> tensor<2x32xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<2x32xf32>
  check.expect_eq %y, %z : tensor<2x32xf32>
  return
}

// -----

func.func @i8_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<333xi32>
  %x1 = stablehlo.constant dense<7> : tensor<333xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<333xi32>
  %x3 = stablehlo.constant dense<3> : tensor<333xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<333xi32>
  %x5 = stablehlo.convert %x4 : (tensor<333xi32>) -> tensor<333xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x333xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<333xf32>) -> tensor<2x333xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x333xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x333xf32>, tensor<f32>) -> tensor<333xf32>
  %x = stablehlo.reshape %x10 : (tensor<333xf32>) -> tensor<1x333xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<16650xi32>
  %w1 = stablehlo.constant dense<11> : tensor<16650xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<16650xi32>
  %w3 = stablehlo.constant dense<5> : tensor<16650xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<16650xi32>
  %w5 = stablehlo.convert %w4 : (tensor<16650xi32>) -> tensor<16650xi8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x16650xi8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<16650xi8>) -> tensor<2x16650xi8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x16650xi8>
  %w9 = stablehlo.constant dense<0> : tensor<i8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x16650xi8>, tensor<i8>) -> tensor<16650xi8>
  %w = stablehlo.reshape %w10 : (tensor<16650xi8>) -> tensor<50x333xi8>
  %b = stablehlo.convert %w : (tensor<50x333xi8>) -> tensor<50x333xf32>
  %y0 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<1x333xf32>, tensor<50x333xf32>) -> tensor<1x50xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<1x50xf32>
  %v = stablehlo.convert %w : (tensor<50x333xi8>) -> tensor<50x333xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x333xf32>) -> tensor<1x50x333xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<50x333xf32>) -> tensor<1x50x333xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x50x333xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x50x333xf32>, tensor<f32>) -> tensor<1x50xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<1x50xf32>
  check.expect_eq %y, %z : tensor<1x50xf32>
  return
}

// -----

func.func @ui8_two() {
  %x0 = stablehlo.iota dim = 0 : tensor<384xi32>
  %x1 = stablehlo.constant dense<7> : tensor<384xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<384xi32>
  %x3 = stablehlo.constant dense<3> : tensor<384xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<384xi32>
  %x5 = stablehlo.convert %x4 : (tensor<384xi32>) -> tensor<384xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x384xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<384xf32>) -> tensor<2x384xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x384xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x384xf32>, tensor<f32>) -> tensor<384xf32>
  %x = stablehlo.reshape %x10 : (tensor<384xf32>) -> tensor<2x192xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5952xi32>
  %w1 = stablehlo.constant dense<11> : tensor<5952xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5952xi32>
  %w3 = stablehlo.constant dense<5> : tensor<5952xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<5952xi32>
  %w5 = stablehlo.convert %w4 : (tensor<5952xi32>) -> tensor<5952xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x5952xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5952xui8>) -> tensor<2x5952xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x5952xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x5952xui8>, tensor<ui8>) -> tensor<5952xui8>
  %w = stablehlo.reshape %w10 : (tensor<5952xui8>) -> tensor<31x192xui8>
  %b = stablehlo.convert %w : (tensor<31x192xui8>) -> tensor<31x192xf32>
  %y0 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<2x192xf32>, tensor<31x192xf32>) -> tensor<2x31xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<2x31xf32>
  %v = stablehlo.convert %w : (tensor<31x192xui8>) -> tensor<31x192xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x192xf32>) -> tensor<2x31x192xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<31x192xf32>) -> tensor<2x31x192xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<2x31x192xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x31x192xf32>, tensor<f32>) -> tensor<2x31xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<2x31xf32>
  check.expect_eq %y, %z : tensor<2x31xf32>
  return
}

// -----

func.func @lines_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<300xi32>
  %x1 = stablehlo.constant dense<7> : tensor<300xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<300xi32>
  %x3 = stablehlo.constant dense<3> : tensor<300xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<300xi32>
  %x5 = stablehlo.convert %x4 : (tensor<300xi32>) -> tensor<300xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x300xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<300xf32>) -> tensor<2x300xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x300xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x300xf32>, tensor<f32>) -> tensor<300xf32>
  %x = stablehlo.reshape %x10 : (tensor<300xf32>) -> tensor<1x300xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<23100xi32>
  %w1 = stablehlo.constant dense<11> : tensor<23100xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<23100xi32>
  %w3 = stablehlo.constant dense<5> : tensor<23100xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<23100xi32>
  %w5 = stablehlo.convert %w4 : (tensor<23100xi32>) -> tensor<23100xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x23100xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<23100xf32>) -> tensor<2x23100xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x23100xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x23100xf32>, tensor<f32>) -> tensor<23100xf32>
  %w = stablehlo.reshape %w10 : (tensor<23100xf32>) -> tensor<300x77xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x300xf32>, tensor<300x77xf32>) -> tensor<1x77xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<1x77xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<300x77xf32>) -> tensor<77x300xf32>
  %v = stablehlo.convert %t : (tensor<77x300xf32>) -> tensor<77x300xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x300xf32>) -> tensor<1x77x300xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<77x300xf32>) -> tensor<1x77x300xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x77x300xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x77x300xf32>, tensor<f32>) -> tensor<1x77xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<1x77xf32>
  check.expect_eq %y, %z : tensor<1x77xf32>
  return
}

// -----

func.func @lines_four() {
  %x0 = stablehlo.iota dim = 0 : tensor<2080xi32>
  %x1 = stablehlo.constant dense<7> : tensor<2080xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<2080xi32>
  %x3 = stablehlo.constant dense<3> : tensor<2080xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<2080xi32>
  %x5 = stablehlo.convert %x4 : (tensor<2080xi32>) -> tensor<2080xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x2080xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<2080xf32>) -> tensor<2x2080xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x2080xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x2080xf32>, tensor<f32>) -> tensor<2080xf32>
  %x = stablehlo.reshape %x10 : (tensor<2080xf32>) -> tensor<4x520xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<20800xi32>
  %w1 = stablehlo.constant dense<11> : tensor<20800xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<20800xi32>
  %w3 = stablehlo.constant dense<5> : tensor<20800xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<20800xi32>
  %w5 = stablehlo.convert %w4 : (tensor<20800xi32>) -> tensor<20800xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x20800xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<20800xf32>) -> tensor<2x20800xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x20800xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x20800xf32>, tensor<f32>) -> tensor<20800xf32>
  %w = stablehlo.reshape %w10 : (tensor<20800xf32>) -> tensor<520x40xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x520xf32>, tensor<520x40xf32>) -> tensor<4x40xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<4x40xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<520x40xf32>) -> tensor<40x520xf32>
  %v = stablehlo.convert %t : (tensor<40x520xf32>) -> tensor<40x520xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x520xf32>) -> tensor<4x40x520xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<40x520xf32>) -> tensor<4x40x520xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<4x40x520xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x40x520xf32>, tensor<f32>) -> tensor<4x40xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<4x40xf32>
  check.expect_eq %y, %z : tensor<4x40xf32>
  return
}

// -----

func.func @lines_bf16() {
  %x0 = stablehlo.iota dim = 0 : tensor<390xi32>
  %x1 = stablehlo.constant dense<7> : tensor<390xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<390xi32>
  %x3 = stablehlo.constant dense<3> : tensor<390xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<390xi32>
  %x5 = stablehlo.convert %x4 : (tensor<390xi32>) -> tensor<390xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x390xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<390xf32>) -> tensor<2x390xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x390xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x390xf32>, tensor<f32>) -> tensor<390xf32>
  %x = stablehlo.reshape %x10 : (tensor<390xf32>) -> tensor<3x130xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<16640xi32>
  %w1 = stablehlo.constant dense<11> : tensor<16640xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<16640xi32>
  %w3 = stablehlo.constant dense<5> : tensor<16640xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<16640xi32>
  %w5 = stablehlo.convert %w4 : (tensor<16640xi32>) -> tensor<16640xbf16>
  %w6 = stablehlo.iota dim = 0 : tensor<2x16640xbf16>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<16640xbf16>) -> tensor<2x16640xbf16>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x16640xbf16>
  %w9 = stablehlo.constant dense<0.0> : tensor<bf16>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x16640xbf16>, tensor<bf16>) -> tensor<16640xbf16>
  %w = stablehlo.reshape %w10 : (tensor<16640xbf16>) -> tensor<130x128xbf16>
  %a = stablehlo.convert %x : (tensor<3x130xf32>) -> tensor<3x130xbf16>
  %y0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<3x130xbf16>, tensor<130x128xbf16>) -> tensor<3x128xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<3x128xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<130x128xbf16>) -> tensor<128x130xbf16>
  %v = stablehlo.convert %t : (tensor<128x130xbf16>) -> tensor<128x130xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<3x130xf32>) -> tensor<3x128x130xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<128x130xf32>) -> tensor<3x128x130xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<3x128x130xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x128x130xf32>, tensor<f32>) -> tensor<3x128xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<3x128xf32>
  check.expect_eq %y, %z : tensor<3x128xf32>
  return
}

// -----

func.func @lines_two_panels() {
  %x0 = stablehlo.iota dim = 0 : tensor<65xi32>
  %x1 = stablehlo.constant dense<7> : tensor<65xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<65xi32>
  %x3 = stablehlo.constant dense<3> : tensor<65xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<65xi32>
  %x5 = stablehlo.convert %x4 : (tensor<65xi32>) -> tensor<65xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x65xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<65xf32>) -> tensor<2x65xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x65xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x65xf32>, tensor<f32>) -> tensor<65xf32>
  %x = stablehlo.reshape %x10 : (tensor<65xf32>) -> tensor<1x65xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<266500xi32>
  %w1 = stablehlo.constant dense<11> : tensor<266500xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<266500xi32>
  %w3 = stablehlo.constant dense<5> : tensor<266500xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<266500xi32>
  %w5 = stablehlo.convert %w4 : (tensor<266500xi32>) -> tensor<266500xf32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x266500xf32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<266500xf32>) -> tensor<2x266500xf32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x266500xf32>
  %w9 = stablehlo.constant dense<0.0> : tensor<f32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x266500xf32>, tensor<f32>) -> tensor<266500xf32>
  %w = stablehlo.reshape %w10 : (tensor<266500xf32>) -> tensor<65x4100xf32>
  %y0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x65xf32>, tensor<65x4100xf32>) -> tensor<1x4100xf32>
  %y = stablehlo.multiply %y0, %y0 : tensor<1x4100xf32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<65x4100xf32>) -> tensor<4100x65xf32>
  %v = stablehlo.convert %t : (tensor<4100x65xf32>) -> tensor<4100x65xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x65xf32>) -> tensor<1x4100x65xf32>
  %e1 = stablehlo.broadcast_in_dim %v, dims = [1, 2] : (tensor<4100x65xf32>) -> tensor<1x4100x65xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x4100x65xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x4100x65xf32>, tensor<f32>) -> tensor<1x4100xf32>
  %z = stablehlo.multiply %e3, %e3 : tensor<1x4100xf32>
  check.expect_eq %y, %z : tensor<1x4100xf32>
  return
}

// -----

func.func @i4_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.convert %x4 : (tensor<128xi32>) -> tensor<128xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x128xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %x10 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2560xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2560xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2560xi32>
  %w3 = stablehlo.constant dense<0> : tensor<2560xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<2560xi32>
  %w5 = stablehlo.convert %w4 : (tensor<2560xi32>) -> tensor<2560xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x2560xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2560xui8>) -> tensor<2x2560xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x2560xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x2560xui8>, tensor<ui8>) -> tensor<2560xui8>
  %w = stablehlo.reshape %w10 : (tensor<2560xui8>) -> tensor<40x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<160xi32>
  %s1 = stablehlo.constant dense<3> : tensor<160xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<160xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<160xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<160xi32>
  %s5 = stablehlo.convert %s4 : (tensor<160xi32>) -> tensor<160xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x160xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<160xf16>) -> tensor<2x160xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x160xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x160xf16>, tensor<f16>) -> tensor<160xf16>
  %s = stablehlo.reshape %s10 : (tensor<160xf16>) -> tensor<40x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<40x64xui8>) -> tensor<40x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<40x64x2xi4>) -> tensor<40x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<40x128xi4>) -> tensor<40x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<40x128xf32>) -> tensor<40x4x32xf32>
  %q4 = stablehlo.convert %s : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<40x4x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<40x4x32xf32>) -> tensor<40x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<40x128xf32>) -> tensor<1x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<40x64xui8>) -> tensor<40x64x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<40x64x2xi4>) -> tensor<40x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<40x128xi4>) -> tensor<40x128xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<40x128xf32>) -> tensor<40x4x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<40x4x32xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<40x4x32xf32>) -> tensor<40x128xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<40x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x40x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<40x128xf32>) -> tensor<1x40x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x128xf32>, tensor<f32>) -> tensor<1x40xf32>
  check.expect_eq %y, %e3 : tensor<1x40xf32>
  return
}

// -----

func.func @ui4_offsets() {
  %x0 = stablehlo.iota dim = 0 : tensor<192xi32>
  %x1 = stablehlo.constant dense<7> : tensor<192xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<192xi32>
  %x3 = stablehlo.constant dense<3> : tensor<192xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<192xi32>
  %x5 = stablehlo.convert %x4 : (tensor<192xi32>) -> tensor<192xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x192xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<192xf32>) -> tensor<2x192xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x192xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x192xf32>, tensor<f32>) -> tensor<192xf32>
  %x = stablehlo.reshape %x10 : (tensor<192xf32>) -> tensor<1x192xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<3456xi32>
  %w1 = stablehlo.constant dense<251> : tensor<3456xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<3456xi32>
  %w3 = stablehlo.constant dense<0> : tensor<3456xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<3456xi32>
  %w5 = stablehlo.convert %w4 : (tensor<3456xi32>) -> tensor<3456xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x3456xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<3456xui8>) -> tensor<2x3456xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x3456xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x3456xui8>, tensor<ui8>) -> tensor<3456xui8>
  %w = stablehlo.reshape %w10 : (tensor<3456xui8>) -> tensor<36x96xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<216xi32>
  %s1 = stablehlo.constant dense<3> : tensor<216xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<216xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<216xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<216xi32>
  %s5 = stablehlo.convert %s4 : (tensor<216xi32>) -> tensor<216xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x216xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<216xf16>) -> tensor<2x216xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x216xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x216xf16>, tensor<f16>) -> tensor<216xf16>
  %s = stablehlo.reshape %s10 : (tensor<216xf16>) -> tensor<36x6xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<216xi32>
  %o1 = stablehlo.constant dense<5> : tensor<216xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<216xi32>
  %o3 = stablehlo.constant dense<2> : tensor<216xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<216xi32>
  %o5 = stablehlo.convert %o4 : (tensor<216xi32>) -> tensor<216xf16>
  %o6 = stablehlo.iota dim = 0 : tensor<2x216xf16>
  %o7 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<216xf16>) -> tensor<2x216xf16>
  %o8 = stablehlo.multiply %o6, %o7 : tensor<2x216xf16>
  %o9 = stablehlo.constant dense<0.0> : tensor<f16>
  %o10 = stablehlo.reduce(%o8 init: %o9) applies stablehlo.add across dimensions = [0] : (tensor<2x216xf16>, tensor<f16>) -> tensor<216xf16>
  %o = stablehlo.reshape %o10 : (tensor<216xf16>) -> tensor<36x6xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<36x96xui8>) -> tensor<36x96x2xui4>
  %q1 = stablehlo.reshape %q0 : (tensor<36x96x2xui4>) -> tensor<36x192xui4>
  %q2 = stablehlo.convert %q1 : (tensor<36x192xui4>) -> tensor<36x192xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<36x192xf32>) -> tensor<36x6x32xf32>
  %q4 = stablehlo.convert %s : (tensor<36x6xf16>) -> tensor<36x6xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<36x6xf32>) -> tensor<36x6x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<36x6x32xf32>
  %q7 = stablehlo.convert %o : (tensor<36x6xf16>) -> tensor<36x6xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<36x6xf32>) -> tensor<36x6x32xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<36x6x32xf32>
  %m = stablehlo.reshape %q9 : (tensor<36x6x32xf32>) -> tensor<36x192xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x192xf32>, tensor<36x192xf32>) -> tensor<1x36xf32>
  %v = stablehlo.optimization_barrier %w : tensor<36x96xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<36x96xui8>) -> tensor<36x96x2xui4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<36x96x2xui4>) -> tensor<36x192xui4>
  %rq2 = stablehlo.convert %rq1 : (tensor<36x192xui4>) -> tensor<36x192xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<36x192xf32>) -> tensor<36x6x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<36x6xf16>) -> tensor<36x6xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<36x6xf32>) -> tensor<36x6x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<36x6x32xf32>
  %rq7 = stablehlo.convert %o : (tensor<36x6xf16>) -> tensor<36x6xf32>
  %rq8 = stablehlo.broadcast_in_dim %rq7, dims = [0, 1] : (tensor<36x6xf32>) -> tensor<36x6x32xf32>
  %rq9 = stablehlo.add %rq6, %rq8 : tensor<36x6x32xf32>
  %rm = stablehlo.reshape %rq9 : (tensor<36x6x32xf32>) -> tensor<36x192xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<36x192xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x192xf32>) -> tensor<1x36x192xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<36x192xf32>) -> tensor<1x36x192xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x36x192xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x36x192xf32>, tensor<f32>) -> tensor<1x36xf32>
  check.expect_eq %y, %e3 : tensor<1x36xf32>
  return
}

// -----

func.func @i4_offsets() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.convert %x4 : (tensor<256xi32>) -> tensor<256xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x256xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %x10 : (tensor<256xf32>) -> tensor<2x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2048xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2048xi32>
  %w3 = stablehlo.constant dense<0> : tensor<2048xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<2048xi32>
  %w5 = stablehlo.convert %w4 : (tensor<2048xi32>) -> tensor<2048xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x2048xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2048xui8>) -> tensor<2x2048xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x2048xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x2048xui8>, tensor<ui8>) -> tensor<2048xui8>
  %w = stablehlo.reshape %w10 : (tensor<2048xui8>) -> tensor<32x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<64xi32>
  %s1 = stablehlo.constant dense<3> : tensor<64xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<64xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<64xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<64xi32>
  %s5 = stablehlo.convert %s4 : (tensor<64xi32>) -> tensor<64xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x64xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<64xf16>) -> tensor<2x64xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x64xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x64xf16>, tensor<f16>) -> tensor<64xf16>
  %s = stablehlo.reshape %s10 : (tensor<64xf16>) -> tensor<32x2xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<64xi32>
  %o1 = stablehlo.constant dense<5> : tensor<64xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<64xi32>
  %o3 = stablehlo.constant dense<2> : tensor<64xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<64xi32>
  %o5 = stablehlo.convert %o4 : (tensor<64xi32>) -> tensor<64xf16>
  %o6 = stablehlo.iota dim = 0 : tensor<2x64xf16>
  %o7 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<64xf16>) -> tensor<2x64xf16>
  %o8 = stablehlo.multiply %o6, %o7 : tensor<2x64xf16>
  %o9 = stablehlo.constant dense<0.0> : tensor<f16>
  %o10 = stablehlo.reduce(%o8 init: %o9) applies stablehlo.add across dimensions = [0] : (tensor<2x64xf16>, tensor<f16>) -> tensor<64xf16>
  %o = stablehlo.reshape %o10 : (tensor<64xf16>) -> tensor<32x2xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<32x64xui8>) -> tensor<32x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<32x64x2xi4>) -> tensor<32x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<32x128xi4>) -> tensor<32x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<32x128xf32>) -> tensor<32x2x64xf32>
  %q4 = stablehlo.convert %s : (tensor<32x2xf16>) -> tensor<32x2xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<32x2xf32>) -> tensor<32x2x64xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<32x2x64xf32>
  %q7 = stablehlo.convert %o : (tensor<32x2xf16>) -> tensor<32x2xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<32x2xf32>) -> tensor<32x2x64xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<32x2x64xf32>
  %m = stablehlo.reshape %q9 : (tensor<32x2x64xf32>) -> tensor<32x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<2x128xf32>, tensor<32x128xf32>) -> tensor<2x32xf32>
  %v = stablehlo.optimization_barrier %w : tensor<32x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<32x64xui8>) -> tensor<32x64x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<32x64x2xi4>) -> tensor<32x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<32x128xi4>) -> tensor<32x128xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<32x128xf32>) -> tensor<32x2x64xf32>
  %rq4 = stablehlo.convert %s : (tensor<32x2xf16>) -> tensor<32x2xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<32x2xf32>) -> tensor<32x2x64xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<32x2x64xf32>
  %rq7 = stablehlo.convert %o : (tensor<32x2xf16>) -> tensor<32x2xf32>
  %rq8 = stablehlo.broadcast_in_dim %rq7, dims = [0, 1] : (tensor<32x2xf32>) -> tensor<32x2x64xf32>
  %rq9 = stablehlo.add %rq6, %rq8 : tensor<32x2x64xf32>
  %rm = stablehlo.reshape %rq9 : (tensor<32x2x64xf32>) -> tensor<32x128xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<32x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x128xf32>) -> tensor<2x32x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<32x128xf32>) -> tensor<2x32x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<2x32x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x128xf32>, tensor<f32>) -> tensor<2x32xf32>
  check.expect_eq %y, %e3 : tensor<2x32xf32>
  return
}

// -----

func.func @i4_three() {
  %x0 = stablehlo.iota dim = 0 : tensor<768xi32>
  %x1 = stablehlo.constant dense<7> : tensor<768xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<768xi32>
  %x3 = stablehlo.constant dense<3> : tensor<768xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<768xi32>
  %x5 = stablehlo.convert %x4 : (tensor<768xi32>) -> tensor<768xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x768xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<768xf32>) -> tensor<2x768xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x768xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x768xf32>, tensor<f32>) -> tensor<768xf32>
  %x = stablehlo.reshape %x10 : (tensor<768xf32>) -> tensor<3x256xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<3072xi32>
  %w1 = stablehlo.constant dense<251> : tensor<3072xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<3072xi32>
  %w3 = stablehlo.constant dense<0> : tensor<3072xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<3072xi32>
  %w5 = stablehlo.convert %w4 : (tensor<3072xi32>) -> tensor<3072xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x3072xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<3072xui8>) -> tensor<2x3072xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x3072xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x3072xui8>, tensor<ui8>) -> tensor<3072xui8>
  %w = stablehlo.reshape %w10 : (tensor<3072xui8>) -> tensor<24x128xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<192xi32>
  %s1 = stablehlo.constant dense<3> : tensor<192xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<192xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<192xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<192xi32>
  %s5 = stablehlo.convert %s4 : (tensor<192xi32>) -> tensor<192xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x192xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<192xf16>) -> tensor<2x192xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x192xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x192xf16>, tensor<f16>) -> tensor<192xf16>
  %s = stablehlo.reshape %s10 : (tensor<192xf16>) -> tensor<24x8xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<24x128xui8>) -> tensor<24x128x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<24x128x2xi4>) -> tensor<24x256xi4>
  %q2 = stablehlo.convert %q1 : (tensor<24x256xi4>) -> tensor<24x256xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<24x256xf32>) -> tensor<24x8x32xf32>
  %q4 = stablehlo.convert %s : (tensor<24x8xf16>) -> tensor<24x8xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<24x8xf32>) -> tensor<24x8x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<24x8x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<24x8x32xf32>) -> tensor<24x256xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<3x256xf32>, tensor<24x256xf32>) -> tensor<3x24xf32>
  %v = stablehlo.optimization_barrier %w : tensor<24x128xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<24x128xui8>) -> tensor<24x128x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<24x128x2xi4>) -> tensor<24x256xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<24x256xi4>) -> tensor<24x256xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<24x256xf32>) -> tensor<24x8x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<24x8xf16>) -> tensor<24x8xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<24x8xf32>) -> tensor<24x8x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<24x8x32xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<24x8x32xf32>) -> tensor<24x256xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<24x256xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<3x256xf32>) -> tensor<3x24x256xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<24x256xf32>) -> tensor<3x24x256xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<3x24x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x24x256xf32>, tensor<f32>) -> tensor<3x24xf32>
  check.expect_eq %y, %e3 : tensor<3x24xf32>
  return
}

// -----

func.func @i4_no_scale() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.convert %x4 : (tensor<128xi32>) -> tensor<128xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x128xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %x10 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<3072xi32>
  %w1 = stablehlo.constant dense<251> : tensor<3072xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<3072xi32>
  %w3 = stablehlo.constant dense<0> : tensor<3072xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<3072xi32>
  %w5 = stablehlo.convert %w4 : (tensor<3072xi32>) -> tensor<3072xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x3072xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<3072xui8>) -> tensor<2x3072xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x3072xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x3072xui8>, tensor<ui8>) -> tensor<3072xui8>
  %w = stablehlo.reshape %w10 : (tensor<3072xui8>) -> tensor<48x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<192xi32>
  %s1 = stablehlo.constant dense<3> : tensor<192xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<192xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<192xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<192xi32>
  %s5 = stablehlo.convert %s4 : (tensor<192xi32>) -> tensor<192xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x192xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<192xf16>) -> tensor<2x192xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x192xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x192xf16>, tensor<f16>) -> tensor<192xf16>
  %s = stablehlo.reshape %s10 : (tensor<192xf16>) -> tensor<48x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<48x64xui8>) -> tensor<48x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<48x64x2xi4>) -> tensor<48x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<48x128xi4>) -> tensor<48x128xf32>
  %y = stablehlo.dot_general %x, %q2, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<48x128xf32>) -> tensor<1x48xf32>
  %v = stablehlo.optimization_barrier %w : tensor<48x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<48x64xui8>) -> tensor<48x64x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<48x64x2xi4>) -> tensor<48x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<48x128xi4>) -> tensor<48x128xf32>
  %kept = stablehlo.optimization_barrier %rq2 : tensor<48x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x48x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<48x128xf32>) -> tensor<1x48x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x48x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x48x128xf32>, tensor<f32>) -> tensor<1x48xf32>
  check.expect_eq %y, %e3 : tensor<1x48xf32>
  return
}

// -----

func.func @i4_groups_of_16() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.convert %x4 : (tensor<128xi32>) -> tensor<128xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x128xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %x10 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %w1 = stablehlo.constant dense<251> : tensor<4096xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4096xi32>
  %w3 = stablehlo.constant dense<0> : tensor<4096xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4096xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4096xi32>) -> tensor<4096xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x4096xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4096xui8>) -> tensor<2x4096xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x4096xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x4096xui8>, tensor<ui8>) -> tensor<4096xui8>
  %w = stablehlo.reshape %w10 : (tensor<4096xui8>) -> tensor<64x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<512xi32>
  %s1 = stablehlo.constant dense<3> : tensor<512xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<512xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<512xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<512xi32>
  %s5 = stablehlo.convert %s4 : (tensor<512xi32>) -> tensor<512xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x512xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<512xf16>) -> tensor<2x512xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x512xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x512xf16>, tensor<f16>) -> tensor<512xf16>
  %s = stablehlo.reshape %s10 : (tensor<512xf16>) -> tensor<64x8xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<64x128xf32>) -> tensor<64x8x16xf32>
  %q4 = stablehlo.convert %s : (tensor<64x8xf16>) -> tensor<64x8xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<64x8xf32>) -> tensor<64x8x16xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<64x8x16xf32>
  %m = stablehlo.reshape %q6 : (tensor<64x8x16xf32>) -> tensor<64x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<64x128xf32>) -> tensor<1x64xf32>
  %v = stablehlo.optimization_barrier %w : tensor<64x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<64x128xf32>) -> tensor<64x8x16xf32>
  %rq4 = stablehlo.convert %s : (tensor<64x8xf16>) -> tensor<64x8xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<64x8xf32>) -> tensor<64x8x16xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<64x8x16xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<64x8x16xf32>) -> tensor<64x128xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<64x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x64x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<64x128xf32>) -> tensor<1x64x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x64x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x128xf32>, tensor<f32>) -> tensor<1x64xf32>
  check.expect_eq %y, %e3 : tensor<1x64xf32>
  return
}

// -----

func.func @ui2() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.convert %x4 : (tensor<256xi32>) -> tensor<256xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x256xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %x10 : (tensor<256xf32>) -> tensor<1x256xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2048xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2048xi32>
  %w3 = stablehlo.constant dense<0> : tensor<2048xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<2048xi32>
  %w5 = stablehlo.convert %w4 : (tensor<2048xi32>) -> tensor<2048xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x2048xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2048xui8>) -> tensor<2x2048xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x2048xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x2048xui8>, tensor<ui8>) -> tensor<2048xui8>
  %w = stablehlo.reshape %w10 : (tensor<2048xui8>) -> tensor<32x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %s1 = stablehlo.constant dense<3> : tensor<256xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<256xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<256xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<256xi32>
  %s5 = stablehlo.convert %s4 : (tensor<256xi32>) -> tensor<256xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x256xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<256xf16>) -> tensor<2x256xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x256xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf16>, tensor<f16>) -> tensor<256xf16>
  %s = stablehlo.reshape %s10 : (tensor<256xf16>) -> tensor<32x8xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %o1 = stablehlo.constant dense<5> : tensor<256xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<256xi32>
  %o3 = stablehlo.constant dense<2> : tensor<256xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<256xi32>
  %o5 = stablehlo.convert %o4 : (tensor<256xi32>) -> tensor<256xf16>
  %o6 = stablehlo.iota dim = 0 : tensor<2x256xf16>
  %o7 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<256xf16>) -> tensor<2x256xf16>
  %o8 = stablehlo.multiply %o6, %o7 : tensor<2x256xf16>
  %o9 = stablehlo.constant dense<0.0> : tensor<f16>
  %o10 = stablehlo.reduce(%o8 init: %o9) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf16>, tensor<f16>) -> tensor<256xf16>
  %o = stablehlo.reshape %o10 : (tensor<256xf16>) -> tensor<32x8xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<32x64xui8>) -> tensor<32x64x4xui2>
  %q1 = stablehlo.reshape %q0 : (tensor<32x64x4xui2>) -> tensor<32x256xui2>
  %q2 = stablehlo.convert %q1 : (tensor<32x256xui2>) -> tensor<32x256xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<32x256xf32>) -> tensor<32x8x32xf32>
  %q4 = stablehlo.convert %s : (tensor<32x8xf16>) -> tensor<32x8xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<32x8xf32>) -> tensor<32x8x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<32x8x32xf32>
  %q7 = stablehlo.convert %o : (tensor<32x8xf16>) -> tensor<32x8xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<32x8xf32>) -> tensor<32x8x32xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<32x8x32xf32>
  %m = stablehlo.reshape %q9 : (tensor<32x8x32xf32>) -> tensor<32x256xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x256xf32>, tensor<32x256xf32>) -> tensor<1x32xf32>
  %v = stablehlo.optimization_barrier %w : tensor<32x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<32x64xui8>) -> tensor<32x64x4xui2>
  %rq1 = stablehlo.reshape %rq0 : (tensor<32x64x4xui2>) -> tensor<32x256xui2>
  %rq2 = stablehlo.convert %rq1 : (tensor<32x256xui2>) -> tensor<32x256xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<32x256xf32>) -> tensor<32x8x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<32x8xf16>) -> tensor<32x8xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<32x8xf32>) -> tensor<32x8x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<32x8x32xf32>
  %rq7 = stablehlo.convert %o : (tensor<32x8xf16>) -> tensor<32x8xf32>
  %rq8 = stablehlo.broadcast_in_dim %rq7, dims = [0, 1] : (tensor<32x8xf32>) -> tensor<32x8x32xf32>
  %rq9 = stablehlo.add %rq6, %rq8 : tensor<32x8x32xf32>
  %rm = stablehlo.reshape %rq9 : (tensor<32x8x32xf32>) -> tensor<32x256xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<32x256xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x256xf32>) -> tensor<1x32x256xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<32x256xf32>) -> tensor<1x32x256xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x32x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x32x256xf32>, tensor<f32>) -> tensor<1x32xf32>
  check.expect_eq %y, %e3 : tensor<1x32xf32>
  return
}

// -----

func.func @i4_words() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.convert %x4 : (tensor<128xi32>) -> tensor<128xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x128xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %x10 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<512xi32>
  %w1 = stablehlo.constant dense<251> : tensor<512xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<512xi32>
  %w3 = stablehlo.constant dense<0> : tensor<512xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<512xi32>
  %w5 = stablehlo.convert %w4 : (tensor<512xi32>) -> tensor<512xui32>
  %w6 = stablehlo.iota dim = 0 : tensor<2x512xui32>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<512xui32>) -> tensor<2x512xui32>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x512xui32>
  %w9 = stablehlo.constant dense<0> : tensor<ui32>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x512xui32>, tensor<ui32>) -> tensor<512xui32>
  %w = stablehlo.reshape %w10 : (tensor<512xui32>) -> tensor<32x16xui32>
  %s0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %s1 = stablehlo.constant dense<3> : tensor<128xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<128xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<128xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<128xi32>
  %s5 = stablehlo.convert %s4 : (tensor<128xi32>) -> tensor<128xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x128xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<128xf16>) -> tensor<2x128xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x128xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf16>, tensor<f16>) -> tensor<128xf16>
  %s = stablehlo.reshape %s10 : (tensor<128xf16>) -> tensor<32x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<32x16xui32>) -> tensor<32x16x8xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<32x16x8xi4>) -> tensor<32x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<32x128xi4>) -> tensor<32x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<32x128xf32>) -> tensor<32x4x32xf32>
  %q4 = stablehlo.convert %s : (tensor<32x4xf16>) -> tensor<32x4xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<32x4xf32>) -> tensor<32x4x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<32x4x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<32x4x32xf32>) -> tensor<32x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<32x128xf32>) -> tensor<1x32xf32>
  %v = stablehlo.optimization_barrier %w : tensor<32x16xui32>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<32x16xui32>) -> tensor<32x16x8xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<32x16x8xi4>) -> tensor<32x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<32x128xi4>) -> tensor<32x128xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<32x128xf32>) -> tensor<32x4x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<32x4xf16>) -> tensor<32x4xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<32x4xf32>) -> tensor<32x4x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<32x4x32xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<32x4x32xf32>) -> tensor<32x128xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<32x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x32x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<32x128xf32>) -> tensor<1x32x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x32x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
  check.expect_eq %y, %e3 : tensor<1x32xf32>
  return
}

// -----

func.func @i4_short() {
  %x0 = stablehlo.iota dim = 0 : tensor<96xi32>
  %x1 = stablehlo.constant dense<7> : tensor<96xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<96xi32>
  %x3 = stablehlo.constant dense<3> : tensor<96xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<96xi32>
  %x5 = stablehlo.convert %x4 : (tensor<96xi32>) -> tensor<96xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x96xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<96xf32>) -> tensor<2x96xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x96xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x96xf32>, tensor<f32>) -> tensor<96xf32>
  %x = stablehlo.reshape %x10 : (tensor<96xf32>) -> tensor<1x96xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<3072xi32>
  %w1 = stablehlo.constant dense<251> : tensor<3072xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<3072xi32>
  %w3 = stablehlo.constant dense<0> : tensor<3072xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<3072xi32>
  %w5 = stablehlo.convert %w4 : (tensor<3072xi32>) -> tensor<3072xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x3072xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<3072xui8>) -> tensor<2x3072xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x3072xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x3072xui8>, tensor<ui8>) -> tensor<3072xui8>
  %w = stablehlo.reshape %w10 : (tensor<3072xui8>) -> tensor<64x48xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<192xi32>
  %s1 = stablehlo.constant dense<3> : tensor<192xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<192xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<192xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<192xi32>
  %s5 = stablehlo.convert %s4 : (tensor<192xi32>) -> tensor<192xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x192xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<192xf16>) -> tensor<2x192xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x192xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x192xf16>, tensor<f16>) -> tensor<192xf16>
  %s = stablehlo.reshape %s10 : (tensor<192xf16>) -> tensor<64x3xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<64x48xui8>) -> tensor<64x48x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<64x48x2xi4>) -> tensor<64x96xi4>
  %q2 = stablehlo.convert %q1 : (tensor<64x96xi4>) -> tensor<64x96xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<64x96xf32>) -> tensor<64x3x32xf32>
  %q4 = stablehlo.convert %s : (tensor<64x3xf16>) -> tensor<64x3xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<64x3xf32>) -> tensor<64x3x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<64x3x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<64x3x32xf32>) -> tensor<64x96xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x96xf32>, tensor<64x96xf32>) -> tensor<1x64xf32>
  %v = stablehlo.optimization_barrier %w : tensor<64x48xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<64x48xui8>) -> tensor<64x48x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<64x48x2xi4>) -> tensor<64x96xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<64x96xi4>) -> tensor<64x96xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<64x96xf32>) -> tensor<64x3x32xf32>
  %rq4 = stablehlo.convert %s : (tensor<64x3xf16>) -> tensor<64x3xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<64x3xf32>) -> tensor<64x3x32xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<64x3x32xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<64x3x32xf32>) -> tensor<64x96xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<64x96xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x96xf32>) -> tensor<1x64x96xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<64x96xf32>) -> tensor<1x64x96xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x64x96xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x96xf32>, tensor<f32>) -> tensor<1x64xf32>
  check.expect_eq %y, %e3 : tensor<1x64xf32>
  return
}

// -----

func.func @i4_groups_of_4() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.convert %x4 : (tensor<128xi32>) -> tensor<128xf32>
  %x6 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %x7 = stablehlo.broadcast_in_dim %x5, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %x8 = stablehlo.multiply %x6, %x7 : tensor<2x128xf32>
  %x9 = stablehlo.constant dense<0.0> : tensor<f32>
  %x10 = stablehlo.reduce(%x8 init: %x9) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %x10 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %w1 = stablehlo.constant dense<251> : tensor<4096xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4096xi32>
  %w3 = stablehlo.constant dense<0> : tensor<4096xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4096xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4096xi32>) -> tensor<4096xui8>
  %w6 = stablehlo.iota dim = 0 : tensor<2x4096xui8>
  %w7 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4096xui8>) -> tensor<2x4096xui8>
  %w8 = stablehlo.multiply %w6, %w7 : tensor<2x4096xui8>
  %w9 = stablehlo.constant dense<0> : tensor<ui8>
  %w10 = stablehlo.reduce(%w8 init: %w9) applies stablehlo.add across dimensions = [0] : (tensor<2x4096xui8>, tensor<ui8>) -> tensor<4096xui8>
  %w = stablehlo.reshape %w10 : (tensor<4096xui8>) -> tensor<64x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<2048xi32>
  %s1 = stablehlo.constant dense<3> : tensor<2048xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<2048xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<2048xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<2048xi32>
  %s5 = stablehlo.convert %s4 : (tensor<2048xi32>) -> tensor<2048xf16>
  %s6 = stablehlo.iota dim = 0 : tensor<2x2048xf16>
  %s7 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<2048xf16>) -> tensor<2x2048xf16>
  %s8 = stablehlo.multiply %s6, %s7 : tensor<2x2048xf16>
  %s9 = stablehlo.constant dense<0.0> : tensor<f16>
  %s10 = stablehlo.reduce(%s8 init: %s9) applies stablehlo.add across dimensions = [0] : (tensor<2x2048xf16>, tensor<f16>) -> tensor<2048xf16>
  %s = stablehlo.reshape %s10 : (tensor<2048xf16>) -> tensor<64x32xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<64x128xf32>) -> tensor<64x32x4xf32>
  %q4 = stablehlo.convert %s : (tensor<64x32xf16>) -> tensor<64x32xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<64x32xf32>) -> tensor<64x32x4xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<64x32x4xf32>
  %m = stablehlo.reshape %q6 : (tensor<64x32x4xf32>) -> tensor<64x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<64x128xf32>) -> tensor<1x64xf32>
  %v = stablehlo.optimization_barrier %w : tensor<64x64xui8>
  %rq0 = stablehlo.bitcast_convert %v : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %rq1 = stablehlo.reshape %rq0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %rq2 = stablehlo.convert %rq1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %rq3 = stablehlo.reshape %rq2 : (tensor<64x128xf32>) -> tensor<64x32x4xf32>
  %rq4 = stablehlo.convert %s : (tensor<64x32xf16>) -> tensor<64x32xf32>
  %rq5 = stablehlo.broadcast_in_dim %rq4, dims = [0, 1] : (tensor<64x32xf32>) -> tensor<64x32x4xf32>
  %rq6 = stablehlo.multiply %rq3, %rq5 : tensor<64x32x4xf32>
  %rm = stablehlo.reshape %rq6 : (tensor<64x32x4xf32>) -> tensor<64x128xf32>
  %kept = stablehlo.optimization_barrier %rm : tensor<64x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x64x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<64x128xf32>) -> tensor<1x64x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x64x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e3 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x128xf32>, tensor<f32>) -> tensor<1x64xf32>
  check.expect_eq %y, %e3 : tensor<1x64xf32>
  return
}
