func.func @scans(%a: tensor<8x3xf32>, %b: tensor<3xf32>, %c: tensor<3x8xf32>, %d: tensor<?x3xf32>) {
  %0:2 = "chlo.scan"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  %1:2 = "chlo.scan"(%c, %b) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<3x8xf32>, tensor<3xf32>) -> (tensor<3x8xf32>, tensor<3xf32>)
  %2:2 = "chlo.scan"(%d, %b) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>, scan_dim_size = 8 : i64} : (tensor<?x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  %3 = "chlo.scan"(%a) ({
  ^bb0(%x: tensor<3xf32>):
    stablehlo.return %x : tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 0>, resultSegmentSizes = array<i32: 1, 0>} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %4:2 = "chlo.scan"(%b) ({
  ^bb0(%c: tensor<3xf32>):
    stablehlo.return %c, %c : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>, scan_dim_size = 5 : i64} : (tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @refused(%a: tensor<3xf32>, %b: tensor<8x3xf32>, %c: tensor<7x3xf32>, %d: tensor<*xf32>) {
  // expected-error@+1 {{'chlo.scan' op needs at least one input or output}}
  %0 = "chlo.scan"(%a) ({
  ^bb0(%c: tensor<3xf32>):
    stablehlo.return %c : tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 0, 1>} : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error@+1 {{'chlo.scan' op operand 0 of type tensor<8x3xf32> has no dimension 2}}
  %1:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 2 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op operand 1 has size 7 along the scanned dimension, not 8}}
  %2:2 = "chlo.scan"(%b, %c, %a) ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %x, %c : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<7x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op operand 0 has size 8 along the scanned dimension, not 9}}
  %3:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>, scan_dim_size = 9 : i64} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op operand 0 must be ranked}}
  %4:2 = "chlo.scan"(%d, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<*xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op operand 1 must be ranked}}
  %5:2 = "chlo.scan"(%b, %d) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<*xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op the body must take 2 values, but takes 1}}
  %6:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>):
    stablehlo.return %x, %x : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op argument 0 of the body must have type tensor<3xf32>, but has tensor<8x3xf32>}}
  %7:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<8x3xf32>, %c: tensor<3xf32>):
    stablehlo.return %c, %c : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op argument 1 of the body must have type tensor<3xf32>, but has tensor<4xf32>}}
  %8:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<4xf32>):
    stablehlo.return %x, %x : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op the body must return at least 1 carries, but returns 0 values}}
  %9:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op infers 2 results, but has 3}}
  %10:3 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 2, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op has 1 initial values, but 2 carries}}
  %11:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 0, 2>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op value 0 of the body must be ranked, but has type !stablehlo.token}}
  %12:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %t = stablehlo.create_token : !stablehlo.token
    stablehlo.return %t, %c : !stablehlo.token, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op value 0 of the body has type tensor<3xf32>, to which no dimension 2 can be added}}
  %13:2 = "chlo.scan"(%a) ({
  ^bb0(%c: tensor<3xf32>):
    stablehlo.return %c, %c : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 2 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>, scan_dim_size = 5 : i64} : (tensor<3xf32>) -> (tensor<3x5xf32>, tensor<3xf32>)
  // expected-error@+1 {{'chlo.scan' op result 0 has the inferred type tensor<8x3xf32>}}
  %14:2 = "chlo.scan"(%b, %a) ({
  ^bb0(%x: tensor<3xf32>, %c: tensor<3xf32>):
    %s = stablehlo.add %x, %c : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<8x3xf32>, tensor<3xf32>) -> (tensor<7x3xf32>, tensor<3xf32>)
  func.return
}
