// concatenate: operands one after the other along one dimension.

func.func @rows_and_columns() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[5, 6]]> : tensor<1x2xi32>
  %c = stablehlo.constant dense<[[7], [8]]> : tensor<2x1xi32>
  %rows = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x2xi32>, tensor<1x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %rows, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %columns = stablehlo.concatenate %c, %a, dim = 1 : (tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %columns, dense<[[7, 1, 2], [8, 3, 4]]> : tensor<2x3xi32>
  func.return
}

func.func @middle_of_three() {
  %a = stablehlo.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi8>
  %b = stablehlo.constant dense<[[[5, 6], [7, 8]], [[-1, -2], [-3, -4]]]> : tensor<2x2x2xi8>
  %r = stablehlo.concatenate %a, %b, %a, dim = 1
    : (tensor<2x1x2xi8>, tensor<2x2x2xi8>, tensor<2x1x2xi8>) -> tensor<2x4x2xi8>
  check.expect_eq_const %r, dense<[[[1, 2], [5, 6], [7, 8], [1, 2]], [[3, 4], [-1, -2], [-3, -4], [3, 4]]]>
    : tensor<2x4x2xi8>
  func.return
}

func.func @one_operand() {
  %a = stablehlo.constant dense<[(1.0, -1.0), (0.5, 2.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.concatenate %a, dim = 0 : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, -1.0), (0.5, 2.0)]> : tensor<2xcomplex<f32>>
  func.return
}

func.func @empty_operands() {
  %none = stablehlo.constant dense<> : tensor<2x0xf16>
  %some = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf16>
  %r = stablehlo.concatenate %none, %some, %none, dim = 1
    : (tensor<2x0xf16>, tensor<2x1xf16>, tensor<2x0xf16>) -> tensor<2x1xf16>
  check.expect_eq_const %r, dense<[[1.0], [2.0]]> : tensor<2x1xf16>
  %still_none = stablehlo.concatenate %none, %none, dim = 0 : (tensor<2x0xf16>, tensor<2x0xf16>) -> tensor<4x0xf16>
  check.expect_eq_const %still_none, dense<> : tensor<4x0xf16>
  func.return
}

func.func @sub_byte() {
  %a = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %b = stablehlo.constant dense<[-1]> : tensor<1xi4>
  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xi4>, tensor<1xi4>) -> tensor<3xi4>
  check.expect_eq_const %r, dense<[-8, 7, -1]> : tensor<3xi4>
  func.return
}

func.func @unknown_sizes() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui16>
  %open = tensor.cast %a : tensor<3xui16> to tensor<?xui16>
  %r = stablehlo.concatenate %open, %a, dim = 0 : (tensor<?xui16>, tensor<3xui16>) -> tensor<?xui16>
  %known = tensor.cast %r : tensor<?xui16> to tensor<6xui16>
  check.expect_eq_const %known, dense<[1, 2, 3, 1, 2, 3]> : tensor<6xui16>
  func.return
}

func.func @many_elements() {
  %a = stablehlo.iota dim = 0 : tensor<12x4xf32>
  %b = stablehlo.iota dim = 0 : tensor<5x4xf32>
  %c = stablehlo.iota dim = 0 : tensor<31x4xf32>
  %twelve = stablehlo.constant dense<12.0> : tensor<5x4xf32>
  %seventeen = stablehlo.constant dense<17.0> : tensor<31x4xf32>
  %next = stablehlo.add %b, %twelve : tensor<5x4xf32>
  %last = stablehlo.add %c, %seventeen : tensor<31x4xf32>
  %r = stablehlo.concatenate %a, %next, %last, dim = 0
    : (tensor<12x4xf32>, tensor<5x4xf32>, tensor<31x4xf32>) -> tensor<48x4xf32>
  %all = stablehlo.iota dim = 0 : tensor<48x4xf32>
  check.expect_eq %r, %all : tensor<48x4xf32>
  %true = stablehlo.compare EQ, %r, %all : (tensor<48x4xf32>, tensor<48x4xf32>) -> tensor<48x4xi1>
  %false = stablehlo.not %true : tensor<48x4xi1>
  %flags = stablehlo.concatenate %true, %false, %true, dim = 0
    : (tensor<48x4xi1>, tensor<48x4xi1>, tensor<48x4xi1>) -> tensor<144x4xi1>
  %places = stablehlo.iota dim = 0 : tensor<144x4xi32>
  %size = stablehlo.constant dense<48> : tensor<144x4xi32>
  %one = stablehlo.constant dense<1> : tensor<144x4xi32>
  %part = stablehlo.divide %places, %size : tensor<144x4xi32>
  %want = stablehlo.compare NE, %part, %one : (tensor<144x4xi32>, tensor<144x4xi32>) -> tensor<144x4xi1>
  check.expect_eq %flags, %want : tensor<144x4xi1>
  func.return
}
