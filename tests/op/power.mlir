// power: of integers modulo the size of their type.

// Negative powers of integers are zero, but for those of 1 and -1.
func.func @integers() {
  %x0 = stablehlo.constant dense<[2, -3, 7, 2, -1, 1]> : tensor<6xi32>
  %y0 = stablehlo.constant dense<[10, 3, 0, -1, -3, -8]> : tensor<6xi32>
  %r0 = stablehlo.power %x0, %y0 : tensor<6xi32>
  check.expect_eq_const %r0, dense<[1024, -27, 1, 0, -1, 1]> : tensor<6xi32>
  %x1 = stablehlo.constant dense<[3, 10, -1]> : tensor<3xi64>
  %y1 = stablehlo.constant dense<[40, 30, -4]> : tensor<3xi64>
  %r1 = stablehlo.power %x1, %y1 : tensor<3xi64>
  check.expect_eq_const %r1, dense<[-6289078614652622815, 5076944270305263616, 1]> : tensor<3xi64>
  %x2 = stablehlo.constant dense<[2, 3, 255]> : tensor<3xui8>
  %y2 = stablehlo.constant dense<[8, 5, 2]> : tensor<3xui8>
  %r2 = stablehlo.power %x2, %y2 : tensor<3xui8>
  check.expect_eq_const %r2, dense<[0, 243, 1]> : tensor<3xui8>
  %x3 = stablehlo.constant dense<[3, -2, 0]> : tensor<3xi4>
  %y3 = stablehlo.constant dense<[2, 3, -1]> : tensor<3xi4>
  %r3 = stablehlo.power %x3, %y3 : tensor<3xi4>
  check.expect_eq_const %r3, dense<[-7, -8, 0]> : tensor<3xi4>
  %x4 = stablehlo.constant dense<[3, 2]> : tensor<2xui2>
  %y4 = stablehlo.constant dense<[3, 1]> : tensor<2xui2>
  %r4 = stablehlo.power %x4, %y4 : tensor<2xui2>
  check.expect_eq_const %r4, dense<[3, 2]> : tensor<2xui2>
  func.return
}

// -----

// The true values, to a unit in the last place.
func.func @floats() {
  %x0 = stablehlo.constant dense<[2.0, 0.5, 10.0, 1.0000001, 3.0]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[0.5, 149.0, -3.5, 1.0e+07, -2.0]> : tensor<5xf32>
  %r0 = stablehlo.power %x0, %y0 : tensor<5xf32>
  %e0 = stablehlo.constant dense<[1.4142135, 1.0e-45, 0.00031622776, 3.2939677, 0.11111111]> : tensor<5xf32>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %x1 = stablehlo.constant dense<[1.1, -2.0, 0.001]> : tensor<3xf64>
  %y1 = stablehlo.constant dense<[100.0, 3.0, -50.5]> : tensor<3xf64>
  %r1 = stablehlo.power %x1, %y1 : tensor<3xf64>
  %e1 = stablehlo.constant dense<[13780.61233982238, -8.0, 3.162277660168376e+151]> : tensor<3xf64>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// What IEEE 754 defines for pow.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0.0, -0.0, -0.0, 0.0, -8.0, 0x7FC00000, 1.0, -1.0, 0.5, 0x7F800000]> : tensor<10xf32>
  %y0 = stablehlo.constant dense<[0.0, -1.0, -2.0, 3.0, 0.333, 0.0, 0x7FC00000, 0x7F800000, 0x7F800000, -0.5]> : tensor<10xf32>
  %r0 = stablehlo.power %x0, %y0 : tensor<10xf32>
  check.expect_almost_eq_const %r0, dense<[1.0, 0xFF800000, 0x7F800000, 0.0, 0x7FC00000, 1.0, 1.0, 1.0, 0.0,
                                           0.0]> : tensor<10xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, -2.0, 3.0]> : tensor<3xbf16>
  %y0 = stablehlo.constant dense<[0.5, 3.0, -1.0]> : tensor<3xbf16>
  %r0 = stablehlo.power %x0, %y0 : tensor<3xbf16>
  check.expect_eq_const %r0, dense<[1.4140625, -8.0, 0.33398438]> : tensor<3xbf16>
  %x1 = stablehlo.constant dense<[2.0, 3.0, 1.5]> : tensor<3xf8E4M3FN>
  %y1 = stablehlo.constant dense<[0.5, 4.0, 16.0]> : tensor<3xf8E4M3FN>
  %r1 = stablehlo.power %x1, %y1 : tensor<3xf8E4M3FN>
  check.expect_almost_eq_const %r1, dense<[1.375, 80.0, 0x7F]> : tensor<3xf8E4M3FN>, tolerance = 0.0
  %x2 = stablehlo.constant dense<[10.0, 0.5]> : tensor<2xf16>
  %y2 = stablehlo.constant dense<[4.0, 24.0]> : tensor<2xf16>
  %r2 = stablehlo.power %x2, %y2 : tensor<2xf16>
  check.expect_eq_const %r2, dense<[1.0e+04, 6.0e-08]> : tensor<2xf16>
  func.return
}

// -----

// exp(y log x), on the principal branch.
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, 1.0), (-2.0, 0.5)]> : tensor<2xcomplex<f32>>
  %y0 = stablehlo.constant dense<[(2.0, 0.5), (0.5, -1.0)]> : tensor<2xcomplex<f32>>
  %r0 = stablehlo.power %x0, %y0 : tensor<2xcomplex<f32>>
  %e0 = stablehlo.constant dense<[(-0.23284811, 1.3302385), (19.468426, 17.242815)]> : tensor<2xcomplex<f32>>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(0.0, 2.0)]> : tensor<1xcomplex<f64>>
  %y1 = stablehlo.constant dense<[(0.25, 3.0)]> : tensor<1xcomplex<f64>>
  %r1 = stablehlo.power %x1, %y1 : tensor<1xcomplex<f64>>
  %e1 = stablehlo.constant dense<[(-0.008377195807323356, 0.006629399869569992)]> : tensor<1xcomplex<f64>>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
