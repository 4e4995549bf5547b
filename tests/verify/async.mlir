func.func @collective(%a: tensor<4x4xf32>) {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  %done = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
  func.return
}

func.func @a_slice(%a: tensor<4x8xf32>) {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x8xf32>):
    %r = stablehlo.slice %x [0:2, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
    stablehlo.return %r : tensor<2x8xf32>
  }) : (tensor<4x8xf32>) -> !stablehlo.future<tensor<2x8xf32>>
  func.return
}

// -----

func.func @refused(%a: tensor<4x4xf32>, %b: tensor<?x4xf32>) {
  // expected-error@+1 {{[async_start_c1] 'stablehlo.async_start' op the body must be one operation and a return}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    stablehlo.return %x : tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  // expected-error@+1 {{[async_start_c1]}}
  %1 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %y = stablehlo.add %x, %x : tensor<4x4xf32>
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  // expected-error@+1 {{[async_start_c2] 'stablehlo.async_start' op the body must be a collective or a slice, but is 'stablehlo.add'}}
  %2 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %r = stablehlo.add %x, %x : tensor<4x4xf32>
    stablehlo.return %r : tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  // expected-error@+1 {{[async_start_c3] 'stablehlo.async_start' op has 1 operands, but the body takes 2 values}}
  %3 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>):
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  // expected-error@+1 {{[async_start_c3] 'stablehlo.async_start' op operand 0 has type tensor<?x4xf32>, but the body takes tensor<4x4xf32>}}
  %4 = "stablehlo.async_start"(%b) ({
  ^bb0(%x: tensor<4x4xf32>):
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<?x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  // expected-error@+1 {{[async_start_c4] 'stablehlo.async_start' op result 0 has the inferred type !stablehlo.future<tensor<4x8xf32>>}}
  %5 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<8x4xf32>>
  // expected-error@+1 {{[async_start_c4] 'stablehlo.async_start' op the body must return one value, but returns 2}}
  %6 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r, %x : tensor<4x8xf32>, tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  func.return
}

func.func @done(%a: !stablehlo.future<tensor<4x8xf32>>, %b: !stablehlo.future<tensor<4x8xf32>, tensor<4x8xf32>>) {
  // expected-error@+1 {{[async_done_c1] 'stablehlo.async_done' op result 0 has the inferred type tensor<4x8xf32>}}
  %0 = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x4xf32>
  // expected-error@+1 {{[async_done_c1] 'stablehlo.async_done' op the future must be of one value, but is of 2}}
  %1 = "stablehlo.async_done"(%b) : (!stablehlo.future<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
  func.return
}
