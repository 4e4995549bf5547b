// zeta: the sum of (q + k)^-x over all k from 0 on, for x > 1.

// The true values, to a unit in the last place.
func.func @f32_and_f64() {
  %x0 = stablehlo.constant dense<[2.0, 3.0, 1.5, 20.0, 2.0]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[1.0, 0.5, 10.0, 2.0, 1.0e+06]> : tensor<5xf32>
  %r0 = chlo.zeta %x0, %y0 : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  %e0 = stablehlo.constant dense<[1.644934, 8.414398, 0.6486616, 9.539621e-07, 1.0000005e-06]> : tensor<5xf32>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %x1 = stablehlo.constant dense<[2.0, 1.0009765625, 4.0]> : tensor<3xf64>
  %y1 = stablehlo.constant dense<[1.0, 3.0, 0.25]> : tensor<3xf64>
  %r1 = chlo.zeta %x1, %y1 : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  %e1 = stablehlo.constant dense<[1.6449340668482264, 1023.0776251057532, 256.46369066819807]> : tensor<3xf64>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// A negative q has finitely many terms of its own before the positive ones.
func.func @negative_q() {
  %x0 = stablehlo.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf64>
  %y0 = stablehlo.constant dense<[-0.5, -2.25, -10.75]> : tensor<3xf64>
  %r0 = chlo.zeta %x0, %y0 : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  %e0 = stablehlo.constant dense<[8.934802200544679, -61.94847488703008, 259.7573428985799]> : tensor<3xf64>
  check.expect_close %r0, %e0, max_ulp_difference = 2 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The pole, and where there is no value.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[1.0, 0.5, 2.0, 3.0, 1.5, 0x7FC00000, 2.0]> : tensor<7xf32>
  %y0 = stablehlo.constant dense<[2.0, 2.0, -3.0, -3.0, -0.5, 1.0, 0x7F800000]> : tensor<7xf32>
  %r0 = chlo.zeta %x0, %y0 : tensor<7xf32>, tensor<7xf32> -> tensor<7xf32>
  check.expect_almost_eq_const %r0, dense<[0x7F800000, 0x7FC00000, 0x7F800000, 0x7FC00000, 0x7FC00000, 0x7FC00000,
                                           0.0]> : tensor<7xf32>, tolerance = 0.0
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xbf16>
  %y0 = stablehlo.constant dense<[1.0, 0.5]> : tensor<2xbf16>
  %r0 = chlo.zeta %x0, %y0 : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %r0, dense<[1.6484375, 16.25]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[3.0]> : tensor<1xf16>
  %y1 = stablehlo.constant dense<[2.0]> : tensor<1xf16>
  %r1 = chlo.zeta %x1, %y1 : tensor<1xf16>, tensor<1xf16> -> tensor<1xf16>
  check.expect_eq_const %r1, dense<[0.202]> : tensor<1xf16>
  func.return
}
