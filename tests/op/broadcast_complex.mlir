// Also: broadcast_atan2 broadcast_next_after broadcast_polygamma broadcast_select broadcast_zeta
//
// Functions of several numbers on operands of different shapes.

// Numbers from a column of real parts and a row of imaginary ones.
func.func @complex() {
  %re = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %im = stablehlo.constant dense<[-3.0, 0.5]> : tensor<2xf64>
  %r = chlo.broadcast_complex %re, %im : (tensor<2x1xf64>, tensor<2xf64>) -> tensor<2x2xcomplex<f64>>
  check.expect_eq_const %r, dense<[[(1.0, -3.0), (1.0, 0.5)], [(2.0, -3.0), (2.0, 0.5)]]> : tensor<2x2xcomplex<f64>>
  func.return
}

// -----

// Angles of points on two lines; neighbours towards one number.
func.func @pairs() {
  %y = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %x = stablehlo.constant dense<[[1.0], [0.0]]> : tensor<2x1xf32>
  %angle = chlo.broadcast_atan2 %y, %x : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %e = stablehlo.constant dense<[[0.785398163, -0.785398163], [1.57079633, -1.57079633]]> : tensor<2x2xf32>
  check.expect_close %angle, %e, max_ulp_difference = 1 : tensor<2x2xf32>, tensor<2x2xf32>
  %from = stablehlo.constant dense<[1.0, -448.0, 2.0]> : tensor<3xf8E4M3FN>
  %to = stablehlo.constant dense<2.0> : tensor<f8E4M3FN>
  %next = chlo.broadcast_next_after %from, %to : (tensor<3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<3xf8E4M3FN>
  check.expect_eq_const %next, dense<[1.125, -416.0, 2.0]> : tensor<3xf8E4M3FN>
  func.return
}

// -----

// zeta(2) = pi^2 / 6 and zeta(4) = pi^4 / 90, each less one at q = 2; trigamma and its derivative at 1.
func.func @special_functions() {
  %x = stablehlo.constant dense<[[2.0], [4.0]]> : tensor<2x1xf64>
  %q = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %zeta = chlo.broadcast_zeta %x, %q : (tensor<2x1xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  check.expect_almost_eq_const %zeta, dense<[[1.6449340668482264, 0.6449340668482264],
                                             [1.0823232337111382, 0.08232323371113819]]> : tensor<2x2xf64>, tolerance = 1.0e-15
  %n = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %poly = chlo.broadcast_polygamma %n, %one : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  check.expect_almost_eq_const %poly, dense<[1.6449340668482264, -2.4041138063191885]> : tensor<2xf64>, tolerance = 1.0e-15
  func.return
}

// -----

// Condition and branches all have shapes of their own.
func.func @select() {
  %p = stablehlo.constant dense<[[true], [false]]> : tensor<2x1xi1>
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi16>
  %y = stablehlo.constant dense<-7> : tensor<i16>
  %r = chlo.broadcast_select %p, %x, %y : (tensor<2x1xi1>, tensor<3xi16>, tensor<i16>) -> tensor<2x3xi16>
  check.expect_eq_const %r, dense<[[1, 2, 3], [-7, -7, -7]]> : tensor<2x3xi16>
  func.return
}
