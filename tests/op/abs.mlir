// abs: the smallest integer has no positive counterpart and stays; of complex numbers the modulus.

// Signed integers.
func.func @integers() {
  %x0 = stablehlo.constant dense<[-5, 0, -2147483648]> : tensor<3xi32>
  %r0 = stablehlo.abs %x0 : tensor<3xi32>
  check.expect_eq_const %r0, dense<[5, 0, -2147483648]> : tensor<3xi32>
  %x1 = stablehlo.constant dense<[-7, -9223372036854775808]> : tensor<2xi64>
  %r1 = stablehlo.abs %x1 : tensor<2xi64>
  check.expect_eq_const %r1, dense<[7, -9223372036854775808]> : tensor<2xi64>
  %x2 = stablehlo.constant dense<[-128, -127]> : tensor<2xi8>
  %r2 = stablehlo.abs %x2 : tensor<2xi8>
  check.expect_eq_const %r2, dense<[-128, 127]> : tensor<2xi8>
  %x3 = stablehlo.constant dense<[-8, -7, 3]> : tensor<3xi4>
  %r3 = stablehlo.abs %x3 : tensor<3xi4>
  check.expect_eq_const %r3, dense<[-8, 7, 3]> : tensor<3xi4>
  %x4 = stablehlo.constant dense<[-2, -1]> : tensor<2xi2>
  %r4 = stablehlo.abs %x4 : tensor<2xi2>
  check.expect_eq_const %r4, dense<[-2, 1]> : tensor<2xi2>
  func.return
}

// -----

// Only the sign goes: of -0 and NaN too.
func.func @floats() {
  %x0 = stablehlo.constant dense<[-1.5, 0xFF800000]> : tensor<2xf32>
  %r0 = stablehlo.abs %x0 : tensor<2xf32>
  check.expect_eq_const %r0, dense<[1.5, 0x7F800000]> : tensor<2xf32>
  %x1 = stablehlo.constant dense<[-0.1]> : tensor<1xf64>
  %r1 = stablehlo.abs %x1 : tensor<1xf64>
  check.expect_eq_const %r1, dense<[0.1]> : tensor<1xf64>
  %x2 = stablehlo.constant dense<[-3.0, 2.0]> : tensor<2xbf16>
  %r2 = stablehlo.abs %x2 : tensor<2xbf16>
  check.expect_eq_const %r2, dense<[3.0, 2.0]> : tensor<2xbf16>
  %x3 = stablehlo.constant dense<[-448.0]> : tensor<1xf8E4M3FN>
  %r3 = stablehlo.abs %x3 : tensor<1xf8E4M3FN>
  check.expect_eq_const %r3, dense<[448.0]> : tensor<1xf8E4M3FN>
  %z = stablehlo.constant dense<[-0.0, -1.0e-45]> : tensor<2xf32>
  %s = stablehlo.abs %z : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %s : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x00000001]> : tensor<2xui32>
  func.return
}

// -----

// The modulus neither overflows nor underflows on its way.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(3.0, -4.0), (3.0e+30, 4.0e+30), (0.0, 0xFF800000),
                                  (0x7FC00000, 0x7F800000)]> : tensor<4xcomplex<f32>>
  %r0 = stablehlo.abs %x0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  check.expect_eq_const %r0, dense<[5.0, 5.0e+30, 0x7F800000, 0x7F800000]> : tensor<4xf32>
  %x1 = stablehlo.constant dense<[(-6.0e-300, 8.0e-300)]> : tensor<1xcomplex<f64>>
  %r1 = stablehlo.abs %x1 : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_eq_const %r1, dense<[1.0e-299]> : tensor<1xf64>
  func.return
}

// -----

// Sizes known only at run time; no elements at all; a scalar.
func.func @shapes() {
  %x = stablehlo.constant dense<[-1.0, 2.0]> : tensor<2xf32>
  %a = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %b = stablehlo.abs %a : tensor<?xf32>
  %r = tensor.cast %b : tensor<?xf32> to tensor<2xf32>
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf32>
  %none = stablehlo.constant dense<> : tensor<0xcomplex<f32>>
  %n = stablehlo.abs %none : (tensor<0xcomplex<f32>>) -> tensor<0xf32>
  check.expect_eq_const %n, dense<> : tensor<0xf32>
  %p = stablehlo.constant dense<-3> : tensor<i16>
  %q = stablehlo.abs %p : tensor<i16>
  check.expect_eq_const %q, dense<3> : tensor<i16>
  func.return
}
