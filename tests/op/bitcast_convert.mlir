// bitcast_convert: the same bits as elements of another type.

// Types of one width.
func.func @same_width() {
  %x = stablehlo.constant dense<[1.0, -0.0, 0x7FC00000]> : tensor<3xf32>
  %i = stablehlo.bitcast_convert %x : (tensor<3xf32>) -> tensor<3xi32>
  check.expect_eq_const %i, dense<[1065353216, -2147483648, 2143289344]> : tensor<3xi32>
  %back = stablehlo.bitcast_convert %i : (tensor<3xi32>) -> tensor<3xf32>
  check.expect_almost_eq_const %back, dense<[1.0, -0.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  %u = stablehlo.constant dense<[56, 128]> : tensor<2xui8>
  %f = stablehlo.bitcast_convert %u : (tensor<2xui8>) -> tensor<2xf8E4M3FN>
  check.expect_eq_const %f, dense<[1.0, -0.0]> : tensor<2xf8E4M3FN>
  %h = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xbf16>
  %s = stablehlo.bitcast_convert %h : (tensor<2xbf16>) -> tensor<2xui16>
  check.expect_eq_const %s, dense<[16256, 49152]> : tensor<2xui16>
  func.return
}

// -----

// To a narrower type: a new innermost dimension, low bits first.
func.func @narrower() {
  %x = stablehlo.constant dense<[0x01020304, -1]> : tensor<2xi32>
  %b = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x4xi8>
  check.expect_eq_const %b, dense<[[4, 3, 2, 1], [-1, -1, -1, -1]]> : tensor<2x4xi8>
  %n = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x8xui4>
  check.expect_eq_const %n, dense<[[4, 0, 3, 0, 2, 0, 1, 0], [15, 15, 15, 15, 15, 15, 15, 15]]> : tensor<2x8xui4>
  %scalar = stablehlo.constant dense<2.0> : tensor<f64>
  %h = stablehlo.bitcast_convert %scalar : (tensor<f64>) -> tensor<2xui32>
  check.expect_eq_const %h, dense<[0, 0x40000000]> : tensor<2xui32>
  func.return
}

// -----

// To a wider type: the innermost dimension goes.
func.func @wider() {
  %x = stablehlo.constant dense<[[0, 16256], [0, 49152]]> : tensor<2x2xui16>
  %f = stablehlo.bitcast_convert %x : (tensor<2x2xui16>) -> tensor<2xf32>
  check.expect_eq_const %f, dense<[1.0, -2.0]> : tensor<2xf32>
  %n = stablehlo.constant dense<[[-1, 0, 1, -2]]> : tensor<1x4xi2>
  %b = stablehlo.bitcast_convert %n : (tensor<1x4xi2>) -> tensor<1xui8>
  check.expect_eq_const %b, dense<[147]> : tensor<1xui8>
  %z = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %d = stablehlo.bitcast_convert %z : (tensor<2xf32>) -> tensor<ui64>
  check.expect_eq_const %d, dense<0xC00000003F800000> : tensor<ui64>
  func.return
}

// -----

// Sizes known only at run time; no elements at all.
func.func @shapes() {
  %x = stablehlo.constant dense<[258, -1]> : tensor<2xi16>
  %a = tensor.cast %x : tensor<2xi16> to tensor<?xi16>
  %b = stablehlo.bitcast_convert %a : (tensor<?xi16>) -> tensor<?x2xi8>
  %r = tensor.cast %b : tensor<?x2xi8> to tensor<2x2xi8>
  check.expect_eq_const %r, dense<[[2, 1], [-1, -1]]> : tensor<2x2xi8>
  %none = stablehlo.constant dense<> : tensor<0x4xi8>
  %w = stablehlo.bitcast_convert %none : (tensor<0x4xi8>) -> tensor<0xf32>
  check.expect_eq_const %w, dense<> : tensor<0xf32>
  func.return
}
