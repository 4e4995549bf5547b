// atan2: the angle of the point (y, x), whose first operand is y.

// All four quarters of the plane.
func.func @f32_and_f64() {
  %x0 = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 1.0e-30]> : tensor<5xf32>
  %y0 = stablehlo.constant dense<[1.0, -1.0, -1.0, 1.0, 1.0e+10]> : tensor<5xf32>
  %r0 = stablehlo.atan2 %x0, %y0 : tensor<5xf32>
  %e0 = stablehlo.constant dense<[0.7853982, 2.3561945, -2.3561945, -0.7853982, 1.0e-40]> : tensor<5xf32>
  check.expect_close %r0, %e0, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  %x1 = stablehlo.constant dense<[2.0, -1.0e-300, 1.0e+300]> : tensor<3xf64>
  %y1 = stablehlo.constant dense<[3.0, -1.0, 1.0e-300]> : tensor<3xf64>
  %r1 = stablehlo.atan2 %x1, %y1 : tensor<3xf64>
  %e1 = stablehlo.constant dense<[0.5880026035475675, -3.141592653589793, 1.5707963267948966]> : tensor<3xf64>
  check.expect_close %r1, %e1, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  func.return
}

// -----

// The signs of infinities and zeros select the quadrant.
func.func @special_values() {
  %x0 = stablehlo.constant dense<[0.0, -0.0, 1.0, 0x7F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<8xf32>
  %y0 = stablehlo.constant dense<[-0.0, -1.0, 0xFF800000, 0x7F800000, 0xFF800000, 1.0, 1.0, 0.0]> : tensor<8xf32>
  %r0 = stablehlo.atan2 %x0, %y0 : tensor<8xf32>
  check.expect_almost_eq_const %r0, dense<[3.1415927, -3.1415927, 3.1415927, 0.7853982, 2.3561945, -1.5707964, 0x7FC00000,
                                           1.5707964]> : tensor<8xf32>, tolerance = 0.0
  %zx = stablehlo.constant dense<[0.0, -0.0, -0.0]> : tensor<3xf32>
  %zy = stablehlo.constant dense<[0.0, 0.0, 2.0]> : tensor<3xf32>
  %z = stablehlo.atan2 %zx, %zy : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<3xf32>) -> tensor<3xui32>
  check.expect_eq_const %bits, dense<[0x00000000, 0x80000000, 0x80000000]> : tensor<3xui32>
  func.return
}

// -----

// Narrow formats: the true value, rounded once.
func.func @narrow_formats() {
  %x0 = stablehlo.constant dense<[1.0, -3.0]> : tensor<2xbf16>
  %y0 = stablehlo.constant dense<[2.0, -1.0]> : tensor<2xbf16>
  %r0 = stablehlo.atan2 %x0, %y0 : tensor<2xbf16>
  check.expect_eq_const %r0, dense<[0.46289062, -1.890625]> : tensor<2xbf16>
  %x1 = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf8E5M2>
  %y1 = stablehlo.constant dense<[-1.0, 4.0]> : tensor<2xf8E5M2>
  %r1 = stablehlo.atan2 %x1, %y1 : tensor<2xf8E5M2>
  check.expect_eq_const %r1, dense<[2.5, 0.25]> : tensor<2xf8E5M2>
  func.return
}

// -----

// -i log((x + iy) / sqrt(x^2 + y^2)).
func.func @complex() {
  %x0 = stablehlo.constant dense<[(1.0, 0.5), (0.25, -1.0)]> : tensor<2xcomplex<f32>>
  %y0 = stablehlo.constant dense<[(2.0, -1.0), (3.0, 0.5)]> : tensor<2xcomplex<f32>>
  %r0 = stablehlo.atan2 %x0, %y0 : tensor<2xcomplex<f32>>
  %e0 = stablehlo.constant dense<[(0.33737049, 0.37908688), (0.030496478, -0.35133564)]> : tensor<2xcomplex<f32>>
  check.expect_close %r0, %e0, max_ulp_difference = 4 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  %x1 = stablehlo.constant dense<[(1.0, 0.5)]> : tensor<1xcomplex<f64>>
  %y1 = stablehlo.constant dense<[(-0.5, 2.0)]> : tensor<1xcomplex<f64>>
  %r1 = stablehlo.atan2 %x1, %y1 : tensor<1xcomplex<f64>>
  %e1 = stablehlo.constant dense<[(-2.980717376391472, -0.5756462732485115)]> : tensor<1xcomplex<f64>>
  check.expect_close %r1, %e1, max_ulp_difference = 4 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  %x2 = stablehlo.constant dense<[(1.0e-12, 7.0e-12)]> : tensor<1xcomplex<f64>>
  %y2 = stablehlo.constant dense<[(3.0e+10, 4.0e+10)]> : tensor<1xcomplex<f64>>
  %r2 = stablehlo.atan2 %x2, %y2 : tensor<1xcomplex<f64>>
  %e2 = stablehlo.constant dense<[(1.24e-22, 6.8e-23)]> : tensor<1xcomplex<f64>>
  check.expect_close %r2, %e2, max_ulp_difference = 4 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}
