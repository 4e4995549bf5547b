// dynamic_pad: pad with run-time amounts.

func.func @all_kinds_of_padding() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<[-1, 1]> : tensor<2xi32>
  %high = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  %interior = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %r = stablehlo.dynamic_pad %x, %p, %low, %high, %interior
    : (tensor<2x2xi32>, tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %r, dense<[[0, 3, 0, 4], [0, 0, 0, 0]]> : tensor<2x4xi32>
  func.return
}

func.func @unknown_result() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %p = stablehlo.constant dense<-0.5> : tensor<f64>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %two = stablehlo.add %one, %one : tensor<1xi64>
  %r = stablehlo.dynamic_pad %x, %p, %two, %one, %one
    : (tensor<2xf64>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
  %known = tensor.cast %r : tensor<?xf64> to tensor<6xf64>
  check.expect_eq_const %known, dense<[-0.5, -0.5, 1.0, -0.5, 2.0, -0.5]> : tensor<6xf64>
  func.return
}

func.func @scalar() {
  %x = stablehlo.constant dense<5> : tensor<ui4>
  %p = stablehlo.constant dense<0> : tensor<ui4>
  %none = stablehlo.constant dense<> : tensor<0xi64>
  %r = stablehlo.dynamic_pad %x, %p, %none, %none, %none
    : (tensor<ui4>, tensor<ui4>, tensor<0xi64>, tensor<0xi64>, tensor<0xi64>) -> tensor<ui4>
  check.expect_eq_const %r, dense<5> : tensor<ui4>
  func.return
}
