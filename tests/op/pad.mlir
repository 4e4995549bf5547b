// pad: padding before, after and between elements; negative padding takes elements away, after interior padding.

func.func @edges() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %p = stablehlo.constant dense<-1> : tensor<i32>
  %r = stablehlo.pad %x, %p, low = [1, 0], high = [0, 2], interior = [0, 0]
    : (tensor<2x2xi32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[-1, -1, -1, -1], [1, 2, -1, -1], [3, 4, -1, -1]]> : tensor<3x4xi32>
  func.return
}

func.func @interior() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %p = stablehlo.constant dense<0.5> : tensor<f32>
  %r = stablehlo.pad %x, %p, low = [0, 1], high = [0, 0], interior = [1, 2]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x8xf32>
  check.expect_eq_const %r, dense<[[0.5, 1.0, 0.5, 0.5, 2.0, 0.5, 0.5, 3.0],
                                   [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
                                   [0.5, 4.0, 0.5, 0.5, 5.0, 0.5, 0.5, 6.0]]> : tensor<3x8xf32>
  func.return
}

func.func @negative_edges() {
  %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %p = stablehlo.constant dense<0> : tensor<i8>
  %r = stablehlo.pad %x, %p, low = [1, -1], high = [-1, -2], interior = [0, 0]
    : (tensor<2x4xi8>, tensor<i8>) -> tensor<2x1xi8>
  check.expect_eq_const %r, dense<[[0], [2]]> : tensor<2x1xi8>
  func.return
}

// Interior padding gives 1 . . 2 . . 3; cutting two off the front and one off the back leaves . 2 . .
func.func @negative_edges_cut_interior() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui16>
  %p = stablehlo.constant dense<9> : tensor<ui16>
  %r = stablehlo.pad %x, %p, low = [-2], high = [-1], interior = [2] : (tensor<3xui16>, tensor<ui16>) -> tensor<4xui16>
  check.expect_eq_const %r, dense<[9, 2, 9, 9]> : tensor<4xui16>
  func.return
}

func.func @everything_cut() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %p = stablehlo.constant dense<7> : tensor<i64>
  %none = stablehlo.pad %x, %p, low = [-3], high = [0], interior = [0] : (tensor<3xi64>, tensor<i64>) -> tensor<0xi64>
  check.expect_eq_const %none, dense<> : tensor<0xi64>
  %padding = stablehlo.pad %x, %p, low = [-5], high = [4], interior = [0] : (tensor<3xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %padding, dense<7> : tensor<2xi64>
  func.return
}

func.func @empty_operand() {
  %x = stablehlo.constant dense<> : tensor<0x2xbf16>
  %p = stablehlo.constant dense<1.5> : tensor<bf16>
  %r = stablehlo.pad %x, %p, low = [1, 0], high = [1, 0], interior = [5, 0]
    : (tensor<0x2xbf16>, tensor<bf16>) -> tensor<2x2xbf16>
  check.expect_eq_const %r, dense<1.5> : tensor<2x2xbf16>
  func.return
}

func.func @complex() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %p = stablehlo.constant dense<(0.0, -1.0)> : tensor<complex<f64>>
  %r = stablehlo.pad %x, %p, low = [0], high = [1], interior = [1]
    : (tensor<2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<4xcomplex<f64>>
  check.expect_eq_const %r, dense<[(1.0, 2.0), (0.0, -1.0), (3.0, 4.0), (0.0, -1.0)]> : tensor<4xcomplex<f64>>
  func.return
}

func.func @sub_byte_and_pred() {
  %x = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %p = stablehlo.constant dense<-1> : tensor<i2>
  %r = stablehlo.pad %x, %p, low = [1], high = [0], interior = [1] : (tensor<2xi2>, tensor<i2>) -> tensor<4xi2>
  check.expect_eq_const %r, dense<[-1, -2, -1, 1]> : tensor<4xi2>
  %b = stablehlo.constant dense<[false, false]> : tensor<2xi1>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %s = stablehlo.pad %b, %t, low = [0], high = [1], interior = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<3xi1>
  check.expect_eq_const %s, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<2.0> : tensor<f32>
  %p = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %x, %p, low = [], high = [], interior = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<2.0> : tensor<f32>
  func.return
}
