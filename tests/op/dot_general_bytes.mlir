// Few rows times a matrix of 8 or 4 bits, which processors with products of bytes (VNNI) multiply as bytes. The rows' numbers span
// 9 powers of two, so that those that share an exponent are exact; all sums are exact in any order.
func.func @i8_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<320xi32>
  %x1 = stablehlo.constant dense<7> : tensor<320xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<320xi32>
  %x3 = stablehlo.constant dense<3> : tensor<320xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<320xi32>
  %x5 = stablehlo.constant dense<4> : tensor<320xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<320xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<320xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<320xi32>
  %x9 = stablehlo.convert %x8 : (tensor<320xi32>) -> tensor<320xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x320xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x320xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x320xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<320xf32>) -> tensor<2x320xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x320xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x320xf32>, tensor<f32>) -> tensor<320xf32>
  %x = stablehlo.reshape %xm6 : (tensor<320xf32>) -> tensor<1x320xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<12800xi32>
  %w1 = stablehlo.constant dense<255> : tensor<12800xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<12800xi32>
  %w3 = stablehlo.constant dense<127> : tensor<12800xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<12800xi32>
  %w5 = stablehlo.convert %w4 : (tensor<12800xi32>) -> tensor<12800xi8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x12800xi8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x12800xi8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x12800xi8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<12800xi8>) -> tensor<2x12800xi8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x12800xi8>
  %wm5 = stablehlo.constant dense<0> : tensor<i8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x12800xi8>, tensor<i8>) -> tensor<12800xi8>
  %w = stablehlo.reshape %wm6 : (tensor<12800xi8>) -> tensor<40x320xi8>
  %b = stablehlo.convert %w : (tensor<40x320xi8>) -> tensor<40x320xf32>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<1x320xf32>, tensor<40x320xf32>) -> tensor<1x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x320xi8>
  %vb = stablehlo.convert %v : (tensor<40x320xi8>) -> tensor<40x320xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x320xf32>) -> tensor<1x40x320xf32>
  %e1 = stablehlo.broadcast_in_dim %vb, dims = [1, 2] : (tensor<40x320xf32>) -> tensor<1x40x320xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x320xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x320xf32>, tensor<f32>) -> tensor<1x40xf32>
  check.expect_eq %y, %z : tensor<1x40xf32>
  return
}

// -----

func.func @i8_three() {
  %x0 = stablehlo.iota dim = 0 : tensor<384xi32>
  %x1 = stablehlo.constant dense<7> : tensor<384xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<384xi32>
  %x3 = stablehlo.constant dense<3> : tensor<384xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<384xi32>
  %x5 = stablehlo.constant dense<4> : tensor<384xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<384xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<384xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<384xi32>
  %x9 = stablehlo.convert %x8 : (tensor<384xi32>) -> tensor<384xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x384xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x384xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x384xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<384xf32>) -> tensor<2x384xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x384xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x384xf32>, tensor<f32>) -> tensor<384xf32>
  %x = stablehlo.reshape %xm6 : (tensor<384xf32>) -> tensor<3x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4736xi32>
  %w1 = stablehlo.constant dense<255> : tensor<4736xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4736xi32>
  %w3 = stablehlo.constant dense<127> : tensor<4736xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4736xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4736xi32>) -> tensor<4736xi8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x4736xi8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x4736xi8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x4736xi8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4736xi8>) -> tensor<2x4736xi8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x4736xi8>
  %wm5 = stablehlo.constant dense<0> : tensor<i8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x4736xi8>, tensor<i8>) -> tensor<4736xi8>
  %w = stablehlo.reshape %wm6 : (tensor<4736xi8>) -> tensor<37x128xi8>
  %b = stablehlo.convert %w : (tensor<37x128xi8>) -> tensor<37x128xf32>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<3x128xf32>, tensor<37x128xf32>) -> tensor<3x37xf32>
  %v = stablehlo.optimization_barrier %w : tensor<37x128xi8>
  %vb = stablehlo.convert %v : (tensor<37x128xi8>) -> tensor<37x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<3x128xf32>) -> tensor<3x37x128xf32>
  %e1 = stablehlo.broadcast_in_dim %vb, dims = [1, 2] : (tensor<37x128xf32>) -> tensor<3x37x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<3x37x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x37x128xf32>, tensor<f32>) -> tensor<3x37xf32>
  check.expect_eq %y, %z : tensor<3x37xf32>
  return
}

// -----

func.func @i8_eight() {
  %x0 = stablehlo.iota dim = 0 : tensor<512xi32>
  %x1 = stablehlo.constant dense<7> : tensor<512xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<512xi32>
  %x3 = stablehlo.constant dense<3> : tensor<512xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<512xi32>
  %x5 = stablehlo.constant dense<4> : tensor<512xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<512xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<512xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<512xi32>
  %x9 = stablehlo.convert %x8 : (tensor<512xi32>) -> tensor<512xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x512xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x512xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x512xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<512xf32>) -> tensor<2x512xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x512xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x512xf32>, tensor<f32>) -> tensor<512xf32>
  %x = stablehlo.reshape %xm6 : (tensor<512xf32>) -> tensor<8x64xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %w1 = stablehlo.constant dense<255> : tensor<4096xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4096xi32>
  %w3 = stablehlo.constant dense<127> : tensor<4096xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<4096xi32>
  %w5 = stablehlo.convert %w4 : (tensor<4096xi32>) -> tensor<4096xi8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x4096xi8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x4096xi8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x4096xi8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4096xi8>) -> tensor<2x4096xi8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x4096xi8>
  %wm5 = stablehlo.constant dense<0> : tensor<i8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x4096xi8>, tensor<i8>) -> tensor<4096xi8>
  %w = stablehlo.reshape %wm6 : (tensor<4096xi8>) -> tensor<64x64xi8>
  %b = stablehlo.convert %w : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %v = stablehlo.optimization_barrier %w : tensor<64x64xi8>
  %vb = stablehlo.convert %v : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<8x64xf32>) -> tensor<8x64x64xf32>
  %e1 = stablehlo.broadcast_in_dim %vb, dims = [1, 2] : (tensor<64x64xf32>) -> tensor<8x64x64xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<8x64x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x64x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  check.expect_eq %y, %z : tensor<8x64xf32>
  return
}

// -----

func.func @i8_infinity() {
  %x0 = stablehlo.iota dim = 0 : tensor<128xi32>
  %x1 = stablehlo.constant dense<7> : tensor<128xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<128xi32>
  %x3 = stablehlo.constant dense<3> : tensor<128xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<128xi32>
  %x5 = stablehlo.constant dense<4> : tensor<128xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<128xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<128xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<128xi32>
  %x9 = stablehlo.convert %x8 : (tensor<128xi32>) -> tensor<128xf32>
  %xa = stablehlo.constant dense<77> : tensor<128xi32>
  %xb = stablehlo.compare EQ, %x0, %xa : (tensor<128xi32>, tensor<128xi32>) -> tensor<128xi1>
  %xc = stablehlo.constant dense<0x7F800000> : tensor<128xf32>
  %xd = stablehlo.select %xb, %xc, %x9 : tensor<128xi1>, tensor<128xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x128xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x128xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x128xf32>
  %xm3 = stablehlo.broadcast_in_dim %xd, dims = [1] : (tensor<128xf32>) -> tensor<2x128xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x128xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x128xf32>, tensor<f32>) -> tensor<128xf32>
  %x = stablehlo.reshape %xm6 : (tensor<128xf32>) -> tensor<1x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %w1 = stablehlo.constant dense<255> : tensor<5120xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5120xi32>
  %w3 = stablehlo.constant dense<127> : tensor<5120xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<5120xi32>
  %w5 = stablehlo.convert %w4 : (tensor<5120xi32>) -> tensor<5120xi8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x5120xi8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x5120xi8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x5120xi8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5120xi8>) -> tensor<2x5120xi8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x5120xi8>
  %wm5 = stablehlo.constant dense<0> : tensor<i8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xi8>, tensor<i8>) -> tensor<5120xi8>
  %w = stablehlo.reshape %wm6 : (tensor<5120xi8>) -> tensor<40x128xi8>
  %b = stablehlo.convert %w : (tensor<40x128xi8>) -> tensor<40x128xf32>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<1x128xf32>, tensor<40x128xf32>) -> tensor<1x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x128xi8>
  %vb = stablehlo.convert %v : (tensor<40x128xi8>) -> tensor<40x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x128xf32>) -> tensor<1x40x128xf32>
  %e1 = stablehlo.broadcast_in_dim %vb, dims = [1, 2] : (tensor<40x128xf32>) -> tensor<1x40x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x128xf32>, tensor<f32>) -> tensor<1x40xf32>
  check.expect_almost_eq %y, %z : tensor<1x40xf32>
  return
}

// -----

func.func @i8_nan() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.constant dense<4> : tensor<256xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<256xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<256xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<256xi32>
  %x9 = stablehlo.convert %x8 : (tensor<256xi32>) -> tensor<256xf32>
  %xa = stablehlo.constant dense<77> : tensor<256xi32>
  %xb = stablehlo.compare EQ, %x0, %xa : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
  %xc = stablehlo.constant dense<0x7FC00000> : tensor<256xf32>
  %xd = stablehlo.select %xb, %xc, %x9 : tensor<256xi1>, tensor<256xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x256xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x256xf32>
  %xm3 = stablehlo.broadcast_in_dim %xd, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x256xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %xm6 : (tensor<256xf32>) -> tensor<2x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %w1 = stablehlo.constant dense<255> : tensor<5120xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5120xi32>
  %w3 = stablehlo.constant dense<127> : tensor<5120xi32>
  %w4 = stablehlo.subtract %w2, %w3 : tensor<5120xi32>
  %w5 = stablehlo.convert %w4 : (tensor<5120xi32>) -> tensor<5120xi8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x5120xi8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x5120xi8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x5120xi8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5120xi8>) -> tensor<2x5120xi8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x5120xi8>
  %wm5 = stablehlo.constant dense<0> : tensor<i8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xi8>, tensor<i8>) -> tensor<5120xi8>
  %w = stablehlo.reshape %wm6 : (tensor<5120xi8>) -> tensor<40x128xi8>
  %b = stablehlo.convert %w : (tensor<40x128xi8>) -> tensor<40x128xf32>
  %y = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<2x128xf32>, tensor<40x128xf32>) -> tensor<2x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x128xi8>
  %vb = stablehlo.convert %v : (tensor<40x128xi8>) -> tensor<40x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x128xf32>) -> tensor<2x40x128xf32>
  %e1 = stablehlo.broadcast_in_dim %vb, dims = [1, 2] : (tensor<40x128xf32>) -> tensor<2x40x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<2x40x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x40x128xf32>, tensor<f32>) -> tensor<2x40xf32>
  check.expect_almost_eq %y, %z : tensor<2x40xf32>
  return
}

// -----

func.func @i4_one() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.constant dense<4> : tensor<256xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<256xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<256xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<256xi32>
  %x9 = stablehlo.convert %x8 : (tensor<256xi32>) -> tensor<256xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x256xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x256xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x256xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %xm6 : (tensor<256xf32>) -> tensor<1x256xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %w1 = stablehlo.constant dense<251> : tensor<5120xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5120xi32>
  %w5 = stablehlo.convert %w2 : (tensor<5120xi32>) -> tensor<5120xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x5120xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x5120xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x5120xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5120xui8>) -> tensor<2x5120xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x5120xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xui8>, tensor<ui8>) -> tensor<5120xui8>
  %w = stablehlo.reshape %wm6 : (tensor<5120xui8>) -> tensor<40x128xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<320xi32>
  %s1 = stablehlo.constant dense<3> : tensor<320xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<320xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<320xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<320xi32>
  %s5 = stablehlo.convert %s4 : (tensor<320xi32>) -> tensor<320xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x320xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x320xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x320xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<320xf16>) -> tensor<2x320xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x320xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x320xf16>, tensor<f16>) -> tensor<320xf16>
  %s = stablehlo.reshape %sm6 : (tensor<320xf16>) -> tensor<40x8xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<40x128xui8>) -> tensor<40x128x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<40x128x2xi4>) -> tensor<40x256xi4>
  %q2 = stablehlo.convert %q1 : (tensor<40x256xi4>) -> tensor<40x256xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<40x256xf32>) -> tensor<40x8x32xf32>
  %q4 = stablehlo.convert %s : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<40x8x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<40x8x32xf32>) -> tensor<40x256xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x256xf32>, tensor<40x256xf32>) -> tensor<1x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x128xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<40x128xui8>) -> tensor<40x128x2xi4>
  %r1 = stablehlo.reshape %r0 : (tensor<40x128x2xi4>) -> tensor<40x256xi4>
  %r2 = stablehlo.convert %r1 : (tensor<40x256xi4>) -> tensor<40x256xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<40x256xf32>) -> tensor<40x8x32xf32>
  %r4 = stablehlo.convert %s : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<40x8x32xf32>
  %n = stablehlo.reshape %r6 : (tensor<40x8x32xf32>) -> tensor<40x256xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<40x256xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x256xf32>) -> tensor<1x40x256xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<40x256xf32>) -> tensor<1x40x256xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x256xf32>, tensor<f32>) -> tensor<1x40xf32>
  check.expect_eq %y, %z : tensor<1x40xf32>
  return
}

// -----

func.func @i4_five() {
  %x0 = stablehlo.iota dim = 0 : tensor<640xi32>
  %x1 = stablehlo.constant dense<7> : tensor<640xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<640xi32>
  %x3 = stablehlo.constant dense<3> : tensor<640xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<640xi32>
  %x5 = stablehlo.constant dense<4> : tensor<640xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<640xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<640xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<640xi32>
  %x9 = stablehlo.convert %x8 : (tensor<640xi32>) -> tensor<640xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x640xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x640xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x640xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<640xf32>) -> tensor<2x640xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x640xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x640xf32>, tensor<f32>) -> tensor<640xf32>
  %x = stablehlo.reshape %xm6 : (tensor<640xf32>) -> tensor<5x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2112xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2112xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2112xi32>
  %w5 = stablehlo.convert %w2 : (tensor<2112xi32>) -> tensor<2112xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x2112xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x2112xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x2112xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2112xui8>) -> tensor<2x2112xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x2112xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x2112xui8>, tensor<ui8>) -> tensor<2112xui8>
  %w = stablehlo.reshape %wm6 : (tensor<2112xui8>) -> tensor<33x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<132xi32>
  %s1 = stablehlo.constant dense<3> : tensor<132xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<132xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<132xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<132xi32>
  %s5 = stablehlo.convert %s4 : (tensor<132xi32>) -> tensor<132xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x132xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x132xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x132xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<132xf16>) -> tensor<2x132xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x132xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x132xf16>, tensor<f16>) -> tensor<132xf16>
  %s = stablehlo.reshape %sm6 : (tensor<132xf16>) -> tensor<33x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<33x64xui8>) -> tensor<33x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<33x64x2xi4>) -> tensor<33x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<33x128xi4>) -> tensor<33x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<33x128xf32>) -> tensor<33x4x32xf32>
  %q4 = stablehlo.convert %s : (tensor<33x4xf16>) -> tensor<33x4xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<33x4xf32>) -> tensor<33x4x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<33x4x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<33x4x32xf32>) -> tensor<33x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<5x128xf32>, tensor<33x128xf32>) -> tensor<5x33xf32>
  %v = stablehlo.optimization_barrier %w : tensor<33x64xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<33x64xui8>) -> tensor<33x64x2xi4>
  %r1 = stablehlo.reshape %r0 : (tensor<33x64x2xi4>) -> tensor<33x128xi4>
  %r2 = stablehlo.convert %r1 : (tensor<33x128xi4>) -> tensor<33x128xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<33x128xf32>) -> tensor<33x4x32xf32>
  %r4 = stablehlo.convert %s : (tensor<33x4xf16>) -> tensor<33x4xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<33x4xf32>) -> tensor<33x4x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<33x4x32xf32>
  %n = stablehlo.reshape %r6 : (tensor<33x4x32xf32>) -> tensor<33x128xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<33x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<5x128xf32>) -> tensor<5x33x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<33x128xf32>) -> tensor<5x33x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<5x33x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<5x33x128xf32>, tensor<f32>) -> tensor<5x33xf32>
  check.expect_eq %y, %z : tensor<5x33xf32>
  return
}

// -----

func.func @ui4_offsets() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.constant dense<4> : tensor<256xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<256xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<256xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<256xi32>
  %x9 = stablehlo.convert %x8 : (tensor<256xi32>) -> tensor<256xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x256xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x256xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x256xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %xm6 : (tensor<256xf32>) -> tensor<1x256xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %w1 = stablehlo.constant dense<251> : tensor<5120xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<5120xi32>
  %w5 = stablehlo.convert %w2 : (tensor<5120xi32>) -> tensor<5120xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x5120xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x5120xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x5120xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<5120xui8>) -> tensor<2x5120xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x5120xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xui8>, tensor<ui8>) -> tensor<5120xui8>
  %w = stablehlo.reshape %wm6 : (tensor<5120xui8>) -> tensor<40x128xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<320xi32>
  %s1 = stablehlo.constant dense<3> : tensor<320xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<320xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<320xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<320xi32>
  %s5 = stablehlo.convert %s4 : (tensor<320xi32>) -> tensor<320xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x320xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x320xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x320xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<320xf16>) -> tensor<2x320xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x320xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x320xf16>, tensor<f16>) -> tensor<320xf16>
  %s = stablehlo.reshape %sm6 : (tensor<320xf16>) -> tensor<40x8xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<320xi32>
  %o1 = stablehlo.constant dense<5> : tensor<320xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<320xi32>
  %o3 = stablehlo.constant dense<2> : tensor<320xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<320xi32>
  %o5 = stablehlo.convert %o4 : (tensor<320xi32>) -> tensor<320xf16>
  %om0 = stablehlo.iota dim = 0 : tensor<2x320xf16>
  %om1 = stablehlo.constant dense<1.0> : tensor<2x320xf16>
  %om2 = stablehlo.add %om0, %om1 : tensor<2x320xf16>
  %om3 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<320xf16>) -> tensor<2x320xf16>
  %om4 = stablehlo.multiply %om2, %om3 : tensor<2x320xf16>
  %om5 = stablehlo.constant dense<0.0> : tensor<f16>
  %om6 = stablehlo.reduce(%om4 init: %om5) applies stablehlo.add across dimensions = [0] : (tensor<2x320xf16>, tensor<f16>) -> tensor<320xf16>
  %o = stablehlo.reshape %om6 : (tensor<320xf16>) -> tensor<40x8xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<40x128xui8>) -> tensor<40x128x2xui4>
  %q1 = stablehlo.reshape %q0 : (tensor<40x128x2xui4>) -> tensor<40x256xui4>
  %q2 = stablehlo.convert %q1 : (tensor<40x256xui4>) -> tensor<40x256xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<40x256xf32>) -> tensor<40x8x32xf32>
  %q4 = stablehlo.convert %s : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<40x8x32xf32>
  %q7 = stablehlo.convert %o : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<40x8x32xf32>
  %m = stablehlo.reshape %q9 : (tensor<40x8x32xf32>) -> tensor<40x256xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<1x256xf32>, tensor<40x256xf32>) -> tensor<1x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x128xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<40x128xui8>) -> tensor<40x128x2xui4>
  %r1 = stablehlo.reshape %r0 : (tensor<40x128x2xui4>) -> tensor<40x256xui4>
  %r2 = stablehlo.convert %r1 : (tensor<40x256xui4>) -> tensor<40x256xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<40x256xf32>) -> tensor<40x8x32xf32>
  %r4 = stablehlo.convert %s : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<40x8x32xf32>
  %r7 = stablehlo.convert %o : (tensor<40x8xf16>) -> tensor<40x8xf32>
  %r8 = stablehlo.broadcast_in_dim %r7, dims = [0, 1] : (tensor<40x8xf32>) -> tensor<40x8x32xf32>
  %r9 = stablehlo.add %r6, %r8 : tensor<40x8x32xf32>
  %n = stablehlo.reshape %r9 : (tensor<40x8x32xf32>) -> tensor<40x256xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<40x256xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<1x256xf32>) -> tensor<1x40x256xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<40x256xf32>) -> tensor<1x40x256xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<1x40x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x40x256xf32>, tensor<f32>) -> tensor<1x40xf32>
  check.expect_eq %y, %z : tensor<1x40xf32>
  return
}

// -----

func.func @ui4_offsets_two() {
  %x0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %x1 = stablehlo.constant dense<7> : tensor<256xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<256xi32>
  %x3 = stablehlo.constant dense<3> : tensor<256xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<256xi32>
  %x5 = stablehlo.constant dense<4> : tensor<256xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<256xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<256xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<256xi32>
  %x9 = stablehlo.convert %x8 : (tensor<256xi32>) -> tensor<256xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x256xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x256xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x256xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<256xf32>) -> tensor<2x256xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x256xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf32>, tensor<f32>) -> tensor<256xf32>
  %x = stablehlo.reshape %xm6 : (tensor<256xf32>) -> tensor<2x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2560xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2560xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2560xi32>
  %w5 = stablehlo.convert %w2 : (tensor<2560xi32>) -> tensor<2560xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x2560xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x2560xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x2560xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2560xui8>) -> tensor<2x2560xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x2560xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x2560xui8>, tensor<ui8>) -> tensor<2560xui8>
  %w = stablehlo.reshape %wm6 : (tensor<2560xui8>) -> tensor<40x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<160xi32>
  %s1 = stablehlo.constant dense<3> : tensor<160xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<160xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<160xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<160xi32>
  %s5 = stablehlo.convert %s4 : (tensor<160xi32>) -> tensor<160xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x160xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x160xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x160xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<160xf16>) -> tensor<2x160xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x160xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x160xf16>, tensor<f16>) -> tensor<160xf16>
  %s = stablehlo.reshape %sm6 : (tensor<160xf16>) -> tensor<40x4xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<160xi32>
  %o1 = stablehlo.constant dense<5> : tensor<160xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<160xi32>
  %o3 = stablehlo.constant dense<2> : tensor<160xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<160xi32>
  %o5 = stablehlo.convert %o4 : (tensor<160xi32>) -> tensor<160xf16>
  %om0 = stablehlo.iota dim = 0 : tensor<2x160xf16>
  %om1 = stablehlo.constant dense<1.0> : tensor<2x160xf16>
  %om2 = stablehlo.add %om0, %om1 : tensor<2x160xf16>
  %om3 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<160xf16>) -> tensor<2x160xf16>
  %om4 = stablehlo.multiply %om2, %om3 : tensor<2x160xf16>
  %om5 = stablehlo.constant dense<0.0> : tensor<f16>
  %om6 = stablehlo.reduce(%om4 init: %om5) applies stablehlo.add across dimensions = [0] : (tensor<2x160xf16>, tensor<f16>) -> tensor<160xf16>
  %o = stablehlo.reshape %om6 : (tensor<160xf16>) -> tensor<40x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<40x64xui8>) -> tensor<40x64x2xui4>
  %q1 = stablehlo.reshape %q0 : (tensor<40x64x2xui4>) -> tensor<40x128xui4>
  %q2 = stablehlo.convert %q1 : (tensor<40x128xui4>) -> tensor<40x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<40x128xf32>) -> tensor<40x4x32xf32>
  %q4 = stablehlo.convert %s : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<40x4x32xf32>
  %q7 = stablehlo.convert %o : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<40x4x32xf32>
  %m = stablehlo.reshape %q9 : (tensor<40x4x32xf32>) -> tensor<40x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<2x128xf32>, tensor<40x128xf32>) -> tensor<2x40xf32>
  %v = stablehlo.optimization_barrier %w : tensor<40x64xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<40x64xui8>) -> tensor<40x64x2xui4>
  %r1 = stablehlo.reshape %r0 : (tensor<40x64x2xui4>) -> tensor<40x128xui4>
  %r2 = stablehlo.convert %r1 : (tensor<40x128xui4>) -> tensor<40x128xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<40x128xf32>) -> tensor<40x4x32xf32>
  %r4 = stablehlo.convert %s : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<40x4x32xf32>
  %r7 = stablehlo.convert %o : (tensor<40x4xf16>) -> tensor<40x4xf32>
  %r8 = stablehlo.broadcast_in_dim %r7, dims = [0, 1] : (tensor<40x4xf32>) -> tensor<40x4x32xf32>
  %r9 = stablehlo.add %r6, %r8 : tensor<40x4x32xf32>
  %n = stablehlo.reshape %r9 : (tensor<40x4x32xf32>) -> tensor<40x128xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<40x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x128xf32>) -> tensor<2x40x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<40x128xf32>) -> tensor<2x40x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<2x40x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x40x128xf32>, tensor<f32>) -> tensor<2x40xf32>
  check.expect_eq %y, %z : tensor<2x40xf32>
  return
}

// -----

// Sums of a word beyond what 32 bits hold.
func.func @greatest() {
  %i = stablehlo.iota dim = 0 : tensor<2x320xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.reduce(%i init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x320xi32>, tensor<i32>) -> tensor<320xi32>
  %ones = stablehlo.convert %one : (tensor<320xi32>) -> tensor<320xf32>
  %c = stablehlo.constant dense<1.984375> : tensor<320xf32>
  %row = stablehlo.multiply %ones, %c : tensor<320xf32>
  %x = stablehlo.reshape %row : (tensor<320xf32>) -> tensor<1x320xf32>

  %l0 = stablehlo.iota dim = 0 : tensor<2x12800xi8>
  %least = stablehlo.constant dense<-128> : tensor<2x12800xi8>
  %l1 = stablehlo.multiply %l0, %least : tensor<2x12800xi8>
  %none = stablehlo.constant dense<0> : tensor<i8>
  %l2 = stablehlo.reduce(%l1 init: %none) applies stablehlo.add across dimensions = [0] : (tensor<2x12800xi8>, tensor<i8>) -> tensor<12800xi8>
  %l3 = stablehlo.reshape %l2 : (tensor<12800xi8>) -> tensor<40x320xi8>
  %l4 = stablehlo.convert %l3 : (tensor<40x320xi8>) -> tensor<40x320xf32>
  %l = stablehlo.dot_general %x, %l4, contracting_dims = [1] x [1] : (tensor<1x320xf32>, tensor<40x320xf32>) -> tensor<1x40xf32>
  check.expect_eq_const %l, dense<-81280.0> : tensor<1x40xf32>

  %m0 = stablehlo.iota dim = 0 : tensor<2x3200xi32>
  %bits = stablehlo.constant dense<-1> : tensor<2x3200xi32>
  %m1 = stablehlo.multiply %m0, %bits : tensor<2x3200xi32>
  %m2 = stablehlo.reduce(%m1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3200xi32>, tensor<i32>) -> tensor<3200xi32>
  %m3 = stablehlo.reshape %m2 : (tensor<3200xi32>) -> tensor<40x80xi32>
  %m4 = stablehlo.bitcast_convert %m3 : (tensor<40x80xi32>) -> tensor<40x80x4xui8>
  %m5 = stablehlo.reshape %m4 : (tensor<40x80x4xui8>) -> tensor<40x320xui8>
  %m6 = stablehlo.convert %m5 : (tensor<40x320xui8>) -> tensor<40x320xf32>
  %m = stablehlo.dot_general %x, %m6, contracting_dims = [1] x [1] : (tensor<1x320xf32>, tensor<40x320xf32>) -> tensor<1x40xf32>
  check.expect_eq_const %m, dense<161925.0> : tensor<1x40xf32>
  return
}
