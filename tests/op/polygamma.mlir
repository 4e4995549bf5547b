// polygamma: derivative n of digamma at x.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 5.0, 1.0]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[0.5, 1.0, 3.0, 0.25, 100.0]> : tensor<5xf32>
  %r0 = chlo.polygamma %x0, %y0 : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  %e0 = stablehlo.constant dense<[-1.96351, 1.644934, -0.1541138, 491552.5, 0.010050166]> : tensor<5xf32>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %x1 = stablehlo.constant dense<[0.0, 1.0, 3.0, 10.0]> : tensor<4xf64>
  %y1 = stablehlo.constant dense<[1.0, 0.5, 2.0, 7.5]> : tensor<4xf64>
  %r1 = chlo.polygamma %x1, %y1 : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %e1 = stablehlo.constant dense<[-0.5772156649015329, 4.934802200544679, 0.49393940226682914,
                                  -0.0011745315735894313]> : tensor<4xf64>
  check.expect_close %r1, %e1, max_ulp_difference = 2 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

// Orders are whole and not negative; the poles lie at zero and the negative integers.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0.5, -1.0, 0.0, 1.0, 2.0, 1.0, 0x7FC00000]> : tensor<7xf32>
  %y0 = stablehlo.constant dense<[2.0, 2.0, -1.0, -1.0, -1.0, 0x7F800000, 1.0]> : tensor<7xf32>
  %r0 = chlo.polygamma %x0, %y0 : tensor<7xf32>, tensor<7xf32> -> tensor<7xf32>
  check.expect_almost_eq_const %r0, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7F800000, 0x7FC00000, 0.0,
                                           0x7FC00000]> : tensor<7xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %y0 = stablehlo.constant dense<[2.0, 1.5]> : tensor<2xbf16>
  %r0 = chlo.polygamma %x0, %y0 : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.64453125, -0.828125]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[0.0]> : tensor<1xf16>
  %y1 = stablehlo.constant dense<[3.0]> : tensor<1xf16>
  %r1 = chlo.polygamma %x1, %y1 : tensor<1xf16>, tensor<1xf16> -> tensor<1xf16>
  check.expect_eq_const %r1, dense<[0.923]> : tensor<1xf16>
  func.return
}

// -----

// Orders whose factorial no format has; between poles, half way from one to the next, where odd powers cancel.
func.func @large_orders() {
  %x0 = stablehlo.constant dense<[600.0, 1754.0, 2000.0, 100000.0, 1000001.0, 12345.0, 3000.0, 3000.0, 3001.0]> : tensor<9xf64>
  %y0 = stablehlo.constant dense<[230.0, 700.0, 736.5, 36788.5, 367879.9, 4541.25, -1000.5, -2.25, -2.25]> : tensor<9xf64>
  %r0 = chlo.polygamma %x0, %y0 : tensor<9xf64>, tensor<9xf64> -> tensor<9xf64>
  %e0 = stablehlo.constant dense<[-5.459463724318192e-12, -1.536192155040445e-63, -0.021763564753119732,
                                  -0.0050908863196847155, 0.005697222376348427, 0.11996171267502886,
                                  -4.8614490872205806e+125, 0x7FF0000000000000, 0x7FF0000000000000]> : tensor<9xf64>
  check.expect_close %r0, %e0, max_ulp_difference = 3 : tensor<9xf64>, tensor<9xf64>
  func.return
}
