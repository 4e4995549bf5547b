func.func @loops(%a: tensor<3xf32>, %b: tensor<i1>, %c: !stablehlo.token, %d: tensor<?xf32>, %e: memref<3xf32>) {
  %0:3 = "stablehlo.while"(%a, %b, %c) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>, %t: !stablehlo.token):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>, %t: !stablehlo.token):
    stablehlo.return %x, %p, %t : tensor<3xf32>, tensor<i1>, !stablehlo.token
  }) : (tensor<3xf32>, tensor<i1>, !stablehlo.token) -> (tensor<3xf32>, tensor<i1>, !stablehlo.token)
  %1:2 = "stablehlo.while"(%d, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<?xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<?xf32>, tensor<i1>
  }) : (tensor<?xf32>, tensor<i1>) -> (tensor<?xf32>, tensor<i1>)
  %2:2 = "stablehlo.while"(%e, %b) ({
  ^bb0(%x: memref<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: memref<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : memref<3xf32>, tensor<i1>
  }) : (memref<3xf32>, tensor<i1>) -> (memref<3xf32>, tensor<i1>)
  func.return
}

// -----

func.func @refused(%a: tensor<3xf32>, %b: tensor<i1>) {
  // expected-error@+1 {{[while_c1] 'stablehlo.while' op the condition must take 2 values, but takes 1}}
  %0:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c1] 'stablehlo.while' op argument 0 of the condition has type tensor<4xf32>, but operand 0 has type tensor<3xf32>}}
  %1:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<4xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c1] 'stablehlo.while' op the condition must return one value, but returns 2}}
  %2:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p, %p : tensor<i1>, tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c1] 'stablehlo.while' op the condition must return tensor<i1>, but returns tensor<3xf32>}}
  %3:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x : tensor<3xf32>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c2] 'stablehlo.while' op the body must take 2 values, but takes 3}}
  %4:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>, %q: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c2] 'stablehlo.while' op argument 1 of the body has type tensor<i32>, but operand 1 has type tensor<i1>}}
  %5:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i32>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i32>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c2] 'stablehlo.while' op the body must return 2 values, but returns 1}}
  %6:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c2] 'stablehlo.while' op value 0 of the body has type tensor<i1>, but operand 0 has type tensor<3xf32>}}
  %7:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p, %p : tensor<i1>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<3xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c3] 'stablehlo.while' op result 0 has the inferred type tensor<3xf32>}}
  %8:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i1>)
  // expected-error@+1 {{[while_c3] 'stablehlo.while' op infers 2 results, but has 1}}
  %9 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<3xf32>, %p: tensor<i1>):
    stablehlo.return %x, %p : tensor<3xf32>, tensor<i1>
  }) : (tensor<3xf32>, tensor<i1>) -> tensor<3xf32>
  func.return
}
