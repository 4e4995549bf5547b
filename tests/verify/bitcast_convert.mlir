func.func @widths(%a: tensor<2xf32>, %b: tensor<2x4xi8>, %c: tensor<2x?xi16>) -> (tensor<2xi32>, tensor<2xf32>, tensor<2x2xf16>, tensor<2xi64>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>
  %1 = stablehlo.bitcast_convert %b : (tensor<2x4xi8>) -> tensor<2xf32>
  %2 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x2xf16>
  %3 = stablehlo.bitcast_convert %c : (tensor<2x?xi16>) -> tensor<2xi64>
  func.return %0, %1, %2, %3 : tensor<2xi32>, tensor<2xf32>, tensor<2x2xf16>, tensor<2xi64>
}

// -----

func.func @ranks(%a: tensor<2xf32>, %b: tensor<2x2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{[bitcast_convert_c1] 'stablehlo.bitcast_convert' op cannot convert tensor<2xf32> to tensor<2x1xi32>: elements of one width have different ranks}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x1xi32>
  // expected-error@+1 {{[bitcast_convert_c1] 'stablehlo.bitcast_convert' op cannot convert tensor<2x2xf32> to tensor<2x2xi8>: the narrower elements do not come in one more dimension}}
  %1 = stablehlo.bitcast_convert %b : (tensor<2x2xf32>) -> tensor<2x2xi8>
  func.return %a : tensor<2xf32>
}

func.func @sizes(%a: tensor<2xf32>, %b: tensor<3x4xi8>) -> tensor<2xf32> {
  // expected-error@+1 {{[bitcast_convert_c1] 'stablehlo.bitcast_convert' op cannot convert tensor<2xf32> to tensor<2x3xi8>: the innermost dimension does not make up one of the wider elements}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x3xi8>
  // expected-error@+1 {{[bitcast_convert_c1] 'stablehlo.bitcast_convert' op cannot convert tensor<3x4xi8> to tensor<2xf32>: the leading dimensions differ}}
  %1 = stablehlo.bitcast_convert %b : (tensor<3x4xi8>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}

func.func @complex(%a: tensor<2xcomplex<f32>>) -> tensor<2xf64> {
  // expected-error@+1 {{[bitcast_convert_c2]}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  func.return %0 : tensor<2xf64>
}
