func.func @amounts(%a: tensor<3x?x?xf32, #stablehlo.bounds<?, ?, 4>>, %v: tensor<f32>) -> tensor<8x?x?xf32> {
  %0 = stablehlo.pad %a, %v, low = [1, 0, -1], high = [2, 0, -1], interior = [1, 0, 0] : (tensor<3x?x?xf32, #stablehlo.bounds<?, ?, 4>>, tensor<f32>) -> tensor<8x?x?xf32, #stablehlo.bounds<?, ?, 2>>
  %1 = tensor.cast %0 : tensor<8x?x?xf32, #stablehlo.bounds<?, ?, 2>> to tensor<8x?x?xf32>
  func.return %1 : tensor<8x?x?xf32>
}

func.func @dynamic(%a: tensor<3xf32>, %v: tensor<f32>, %n: tensor<1xi64>) -> tensor<?xf32> {
  %c = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %v, %c, %c, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
  %1 = stablehlo.dynamic_pad %a, %v, %c, %n, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// -----

func.func @pad(%a: tensor<3xf32>, %v: tensor<f32>, %w: tensor<f64>) -> tensor<3xf32> {
  // expected-error@+1 {{[pad_c1] 'stablehlo.pad' op operand and padding value must have one element type, but have f32 and f64}}
  %0 = stablehlo.pad %a, %w, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f64>) -> tensor<5xf32>
  // expected-error@+1 {{[pad_c1] 'stablehlo.pad' op operand and result must have one element type, but have f32 and f64}}
  %1 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf64>
  // expected-error@+1 {{[pad_c2] 'stablehlo.pad' op edge_padding_high must have 1 elements, but has 2}}
  %2 = stablehlo.pad %a, %v, low = [1], high = [1, 1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  // expected-error@+1 {{[pad_c3] 'stablehlo.pad' op interior padding must not be negative, but is [-1]}}
  %3 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  // expected-error@+1 {{[pad_c4] 'stablehlo.pad' op padding dimension 0 gives it a size that is negative or too large}}
  %4 = stablehlo.pad %a, %v, low = [-2], high = [-2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  // expected-error@+1 {{[pad_c4] 'stablehlo.pad' op result 0 has the inferred type tensor<5xf32>}}
  %5 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  // expected-error@+1 {{[pad_c4] 'stablehlo.pad' op padding dimension 0 gives it a size that is negative or too large}}
  %6 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [9223372036854775807] : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32>
  func.return %a : tensor<3xf32>
}

func.func @bound(%a: tensor<?xf32, #stablehlo.bounds<3>>, %v: tensor<f32>) -> tensor<?xf32> {
  // expected-error@+1 {{[pad_c4] 'stablehlo.pad' op padding dimension 0 gives it a bound that is negative or too large}}
  %0 = stablehlo.pad %a, %v, low = [-2], high = [-2], interior = [0] : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<f32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

func.func @dynamic(%a: tensor<3xf32>, %v: tensor<f32>, %w: tensor<f64>, %n: tensor<1xi64>, %m: tensor<2xi64>) -> tensor<3xf32> {
  // expected-error@+1 {{[dynamic_pad_c1]}}
  %0 = stablehlo.dynamic_pad %a, %w, %n, %n, %n : (tensor<3xf32>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  // expected-error@+1 {{[dynamic_pad_c2] 'stablehlo.dynamic_pad' op edge_padding_low must have 1 elements, but has 2}}
  %1 = stablehlo.dynamic_pad %a, %v, %m, %n, %n : (tensor<3xf32>, tensor<f32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %c = stablehlo.constant dense<-1> : tensor<1xi64>
  // expected-error@+1 {{[dynamic_pad_c3]}}
  %2 = stablehlo.dynamic_pad %a, %v, %n, %n, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %d = stablehlo.constant dense<1> : tensor<1xi64>
  // expected-error@+1 {{[dynamic_pad_c4] 'stablehlo.dynamic_pad' op result 0 has the inferred type tensor<7xf32>}}
  %3 = stablehlo.dynamic_pad %a, %v, %d, %d, %d : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xf32>
  // expected-error@+1 {{[dynamic_pad_c4]}}
  %4 = stablehlo.dynamic_pad %a, %v, %n, %n, %n : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %a : tensor<3xf32>
}
