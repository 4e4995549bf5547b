// Many rows times a matrix of 4 bits, which is dequantised as it is packed.
func.func @i4_lines() {
  %x0 = stablehlo.iota dim = 0 : tensor<5120xi32>
  %x1 = stablehlo.constant dense<7> : tensor<5120xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<5120xi32>
  %x3 = stablehlo.constant dense<3> : tensor<5120xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<5120xi32>
  %x5 = stablehlo.constant dense<4> : tensor<5120xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<5120xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<5120xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<5120xi32>
  %x9 = stablehlo.convert %x8 : (tensor<5120xi32>) -> tensor<5120xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x5120xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x5120xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x5120xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<5120xf32>) -> tensor<2x5120xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x5120xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x5120xf32>, tensor<f32>) -> tensor<5120xf32>
  %x = stablehlo.reshape %xm6 : (tensor<5120xf32>) -> tensor<40x128xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %w1 = stablehlo.constant dense<251> : tensor<4096xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<4096xi32>
  %w5 = stablehlo.convert %w2 : (tensor<4096xi32>) -> tensor<4096xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x4096xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x4096xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x4096xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<4096xui8>) -> tensor<2x4096xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x4096xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x4096xui8>, tensor<ui8>) -> tensor<4096xui8>
  %w = stablehlo.reshape %wm6 : (tensor<4096xui8>) -> tensor<64x64xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<256xi32>
  %s1 = stablehlo.constant dense<3> : tensor<256xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<256xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<256xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<256xi32>
  %s5 = stablehlo.convert %s4 : (tensor<256xi32>) -> tensor<256xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x256xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x256xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x256xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<256xf16>) -> tensor<2x256xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x256xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x256xf16>, tensor<f16>) -> tensor<256xf16>
  %s = stablehlo.reshape %sm6 : (tensor<256xf16>) -> tensor<64x4xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %q2 = stablehlo.convert %q1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<64x128xf32>) -> tensor<64x4x32xf32>
  %q4 = stablehlo.convert %s : (tensor<64x4xf16>) -> tensor<64x4xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<64x4x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<64x4x32xf32>) -> tensor<64x128xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<40x128xf32>, tensor<64x128xf32>) -> tensor<40x64xf32>
  %v = stablehlo.optimization_barrier %w : tensor<64x64xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<64x64xui8>) -> tensor<64x64x2xi4>
  %r1 = stablehlo.reshape %r0 : (tensor<64x64x2xi4>) -> tensor<64x128xi4>
  %r2 = stablehlo.convert %r1 : (tensor<64x128xi4>) -> tensor<64x128xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<64x128xf32>) -> tensor<64x4x32xf32>
  %r4 = stablehlo.convert %s : (tensor<64x4xf16>) -> tensor<64x4xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<64x4x32xf32>
  %n = stablehlo.reshape %r6 : (tensor<64x4x32xf32>) -> tensor<64x128xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<64x128xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<40x128xf32>) -> tensor<40x64x128xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<64x128xf32>) -> tensor<40x64x128xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<40x64x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<40x64x128xf32>, tensor<f32>) -> tensor<40x64xf32>
  check.expect_eq %y, %z : tensor<40x64xf32>
  return
}

// -----

func.func @i4_ragged() {
  %x0 = stablehlo.iota dim = 0 : tensor<2112xi32>
  %x1 = stablehlo.constant dense<7> : tensor<2112xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<2112xi32>
  %x3 = stablehlo.constant dense<3> : tensor<2112xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<2112xi32>
  %x5 = stablehlo.constant dense<4> : tensor<2112xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<2112xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<2112xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<2112xi32>
  %x9 = stablehlo.convert %x8 : (tensor<2112xi32>) -> tensor<2112xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x2112xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x2112xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x2112xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<2112xf32>) -> tensor<2x2112xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x2112xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x2112xf32>, tensor<f32>) -> tensor<2112xf32>
  %x = stablehlo.reshape %xm6 : (tensor<2112xf32>) -> tensor<33x64xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<2240xi32>
  %w1 = stablehlo.constant dense<251> : tensor<2240xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<2240xi32>
  %w5 = stablehlo.convert %w2 : (tensor<2240xi32>) -> tensor<2240xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x2240xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x2240xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x2240xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<2240xui8>) -> tensor<2x2240xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x2240xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x2240xui8>, tensor<ui8>) -> tensor<2240xui8>
  %w = stablehlo.reshape %wm6 : (tensor<2240xui8>) -> tensor<70x32xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<140xi32>
  %s1 = stablehlo.constant dense<3> : tensor<140xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<140xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<140xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<140xi32>
  %s5 = stablehlo.convert %s4 : (tensor<140xi32>) -> tensor<140xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x140xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x140xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x140xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<140xf16>) -> tensor<2x140xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x140xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x140xf16>, tensor<f16>) -> tensor<140xf16>
  %s = stablehlo.reshape %sm6 : (tensor<140xf16>) -> tensor<70x2xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<70x32xui8>) -> tensor<70x32x2xi4>
  %q1 = stablehlo.reshape %q0 : (tensor<70x32x2xi4>) -> tensor<70x64xi4>
  %q2 = stablehlo.convert %q1 : (tensor<70x64xi4>) -> tensor<70x64xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<70x64xf32>) -> tensor<70x2x32xf32>
  %q4 = stablehlo.convert %s : (tensor<70x2xf16>) -> tensor<70x2xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<70x2xf32>) -> tensor<70x2x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<70x2x32xf32>
  %m = stablehlo.reshape %q6 : (tensor<70x2x32xf32>) -> tensor<70x64xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<33x64xf32>, tensor<70x64xf32>) -> tensor<33x70xf32>
  %v = stablehlo.optimization_barrier %w : tensor<70x32xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<70x32xui8>) -> tensor<70x32x2xi4>
  %r1 = stablehlo.reshape %r0 : (tensor<70x32x2xi4>) -> tensor<70x64xi4>
  %r2 = stablehlo.convert %r1 : (tensor<70x64xi4>) -> tensor<70x64xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<70x64xf32>) -> tensor<70x2x32xf32>
  %r4 = stablehlo.convert %s : (tensor<70x2xf16>) -> tensor<70x2xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<70x2xf32>) -> tensor<70x2x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<70x2x32xf32>
  %n = stablehlo.reshape %r6 : (tensor<70x2x32xf32>) -> tensor<70x64xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<70x64xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<33x64xf32>) -> tensor<33x70x64xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<70x64xf32>) -> tensor<33x70x64xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<33x70x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<33x70x64xf32>, tensor<f32>) -> tensor<33x70xf32>
  check.expect_eq %y, %z : tensor<33x70xf32>
  return
}

// -----

func.func @ui4_offsets() {
  %x0 = stablehlo.iota dim = 0 : tensor<9216xi32>
  %x1 = stablehlo.constant dense<7> : tensor<9216xi32>
  %x2 = stablehlo.remainder %x0, %x1 : tensor<9216xi32>
  %x3 = stablehlo.constant dense<3> : tensor<9216xi32>
  %x4 = stablehlo.subtract %x2, %x3 : tensor<9216xi32>
  %x5 = stablehlo.constant dense<4> : tensor<9216xi32>
  %x6 = stablehlo.remainder %x0, %x5 : tensor<9216xi32>
  %x7 = stablehlo.multiply %x6, %x3 : tensor<9216xi32>
  %x8 = stablehlo.shift_left %x4, %x7 : tensor<9216xi32>
  %x9 = stablehlo.convert %x8 : (tensor<9216xi32>) -> tensor<9216xf32>
  %xm0 = stablehlo.iota dim = 0 : tensor<2x9216xf32>
  %xm1 = stablehlo.constant dense<1.0> : tensor<2x9216xf32>
  %xm2 = stablehlo.add %xm0, %xm1 : tensor<2x9216xf32>
  %xm3 = stablehlo.broadcast_in_dim %x9, dims = [1] : (tensor<9216xf32>) -> tensor<2x9216xf32>
  %xm4 = stablehlo.multiply %xm2, %xm3 : tensor<2x9216xf32>
  %xm5 = stablehlo.constant dense<0.0> : tensor<f32>
  %xm6 = stablehlo.reduce(%xm4 init: %xm5) applies stablehlo.add across dimensions = [0] : (tensor<2x9216xf32>, tensor<f32>) -> tensor<9216xf32>
  %x = stablehlo.reshape %xm6 : (tensor<9216xf32>) -> tensor<48x192xf32>
  %w0 = stablehlo.iota dim = 0 : tensor<9216xi32>
  %w1 = stablehlo.constant dense<251> : tensor<9216xi32>
  %w2 = stablehlo.remainder %w0, %w1 : tensor<9216xi32>
  %w5 = stablehlo.convert %w2 : (tensor<9216xi32>) -> tensor<9216xui8>
  %wm0 = stablehlo.iota dim = 0 : tensor<2x9216xui8>
  %wm1 = stablehlo.constant dense<1> : tensor<2x9216xui8>
  %wm2 = stablehlo.add %wm0, %wm1 : tensor<2x9216xui8>
  %wm3 = stablehlo.broadcast_in_dim %w5, dims = [1] : (tensor<9216xui8>) -> tensor<2x9216xui8>
  %wm4 = stablehlo.multiply %wm2, %wm3 : tensor<2x9216xui8>
  %wm5 = stablehlo.constant dense<0> : tensor<ui8>
  %wm6 = stablehlo.reduce(%wm4 init: %wm5) applies stablehlo.add across dimensions = [0] : (tensor<2x9216xui8>, tensor<ui8>) -> tensor<9216xui8>
  %w = stablehlo.reshape %wm6 : (tensor<9216xui8>) -> tensor<96x96xui8>
  %s0 = stablehlo.iota dim = 0 : tensor<576xi32>
  %s1 = stablehlo.constant dense<3> : tensor<576xi32>
  %s2 = stablehlo.remainder %s0, %s1 : tensor<576xi32>
  %s3 = stablehlo.constant dense<-1> : tensor<576xi32>
  %s4 = stablehlo.subtract %s2, %s3 : tensor<576xi32>
  %s5 = stablehlo.convert %s4 : (tensor<576xi32>) -> tensor<576xf16>
  %sm0 = stablehlo.iota dim = 0 : tensor<2x576xf16>
  %sm1 = stablehlo.constant dense<1.0> : tensor<2x576xf16>
  %sm2 = stablehlo.add %sm0, %sm1 : tensor<2x576xf16>
  %sm3 = stablehlo.broadcast_in_dim %s5, dims = [1] : (tensor<576xf16>) -> tensor<2x576xf16>
  %sm4 = stablehlo.multiply %sm2, %sm3 : tensor<2x576xf16>
  %sm5 = stablehlo.constant dense<0.0> : tensor<f16>
  %sm6 = stablehlo.reduce(%sm4 init: %sm5) applies stablehlo.add across dimensions = [0] : (tensor<2x576xf16>, tensor<f16>) -> tensor<576xf16>
  %s = stablehlo.reshape %sm6 : (tensor<576xf16>) -> tensor<96x6xf16>
  %o0 = stablehlo.iota dim = 0 : tensor<576xi32>
  %o1 = stablehlo.constant dense<5> : tensor<576xi32>
  %o2 = stablehlo.remainder %o0, %o1 : tensor<576xi32>
  %o3 = stablehlo.constant dense<2> : tensor<576xi32>
  %o4 = stablehlo.subtract %o2, %o3 : tensor<576xi32>
  %o5 = stablehlo.convert %o4 : (tensor<576xi32>) -> tensor<576xf16>
  %om0 = stablehlo.iota dim = 0 : tensor<2x576xf16>
  %om1 = stablehlo.constant dense<1.0> : tensor<2x576xf16>
  %om2 = stablehlo.add %om0, %om1 : tensor<2x576xf16>
  %om3 = stablehlo.broadcast_in_dim %o5, dims = [1] : (tensor<576xf16>) -> tensor<2x576xf16>
  %om4 = stablehlo.multiply %om2, %om3 : tensor<2x576xf16>
  %om5 = stablehlo.constant dense<0.0> : tensor<f16>
  %om6 = stablehlo.reduce(%om4 init: %om5) applies stablehlo.add across dimensions = [0] : (tensor<2x576xf16>, tensor<f16>) -> tensor<576xf16>
  %o = stablehlo.reshape %om6 : (tensor<576xf16>) -> tensor<96x6xf16>
  %q0 = stablehlo.bitcast_convert %w : (tensor<96x96xui8>) -> tensor<96x96x2xui4>
  %q1 = stablehlo.reshape %q0 : (tensor<96x96x2xui4>) -> tensor<96x192xui4>
  %q2 = stablehlo.convert %q1 : (tensor<96x192xui4>) -> tensor<96x192xf32>
  %q3 = stablehlo.reshape %q2 : (tensor<96x192xf32>) -> tensor<96x6x32xf32>
  %q4 = stablehlo.convert %s : (tensor<96x6xf16>) -> tensor<96x6xf32>
  %q5 = stablehlo.broadcast_in_dim %q4, dims = [0, 1] : (tensor<96x6xf32>) -> tensor<96x6x32xf32>
  %q6 = stablehlo.multiply %q3, %q5 : tensor<96x6x32xf32>
  %q7 = stablehlo.convert %o : (tensor<96x6xf16>) -> tensor<96x6xf32>
  %q8 = stablehlo.broadcast_in_dim %q7, dims = [0, 1] : (tensor<96x6xf32>) -> tensor<96x6x32xf32>
  %q9 = stablehlo.add %q6, %q8 : tensor<96x6x32xf32>
  %m = stablehlo.reshape %q9 : (tensor<96x6x32xf32>) -> tensor<96x192xf32>
  %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [1] : (tensor<48x192xf32>, tensor<96x192xf32>) -> tensor<48x96xf32>
  %v = stablehlo.optimization_barrier %w : tensor<96x96xui8>
  %r0 = stablehlo.bitcast_convert %v : (tensor<96x96xui8>) -> tensor<96x96x2xui4>
  %r1 = stablehlo.reshape %r0 : (tensor<96x96x2xui4>) -> tensor<96x192xui4>
  %r2 = stablehlo.convert %r1 : (tensor<96x192xui4>) -> tensor<96x192xf32>
  %r3 = stablehlo.reshape %r2 : (tensor<96x192xf32>) -> tensor<96x6x32xf32>
  %r4 = stablehlo.convert %s : (tensor<96x6xf16>) -> tensor<96x6xf32>
  %r5 = stablehlo.broadcast_in_dim %r4, dims = [0, 1] : (tensor<96x6xf32>) -> tensor<96x6x32xf32>
  %r6 = stablehlo.multiply %r3, %r5 : tensor<96x6x32xf32>
  %r7 = stablehlo.convert %o : (tensor<96x6xf16>) -> tensor<96x6xf32>
  %r8 = stablehlo.broadcast_in_dim %r7, dims = [0, 1] : (tensor<96x6xf32>) -> tensor<96x6x32xf32>
  %r9 = stablehlo.add %r6, %r8 : tensor<96x6x32xf32>
  %n = stablehlo.reshape %r9 : (tensor<96x6x32xf32>) -> tensor<96x192xf32>
  %kept = stablehlo.optimization_barrier %n : tensor<96x192xf32>
  %e0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<48x192xf32>) -> tensor<48x96x192xf32>
  %e1 = stablehlo.broadcast_in_dim %kept, dims = [1, 2] : (tensor<96x192xf32>) -> tensor<48x96x192xf32>
  %e2 = stablehlo.multiply %e0, %e1 : tensor<48x96x192xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<48x96x192xf32>, tensor<f32>) -> tensor<48x96xf32>
  check.expect_eq %y, %z : tensor<48x96xf32>
  return
}
