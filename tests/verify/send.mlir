func.func @channels(%a: tensor<f32>, %b: !stablehlo.token) {
  %0 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  %1 = "stablehlo.send"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  %2 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  %3:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  %4 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  func.return
}

// -----

func.func @refused(%a: tensor<f32>, %b: !stablehlo.token) {
  // expected-error@+1 {{[send_c1] 'stablehlo.send' op source_target_pairs must have the shape [N, 2], but has [1, 3]}}
  %0 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[send_c2] 'stablehlo.send' op sources of source_target_pairs must not have duplicates, but has 0 twice}}
  %1 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[send_c3] 'stablehlo.send' op targets of source_target_pairs must not have duplicates, but has 1 twice}}
  %2 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[send_c4] 'stablehlo.send' op source_target_pairs must not be negative, but have -1}}
  %3 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[send_c5] 'stablehlo.send' op the channel's type must be 1, from device to device, but is 2}}
  %4 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[send_c5] 'stablehlo.send' op the channel's type must be 2, from device to host, but is 3}}
  %5 = "stablehlo.send"(%a, %b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>, is_host_transfer = true} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{[recv_c1] 'stablehlo.recv' op source_target_pairs must have the shape [N, 2], but has [1, 3]}}
  %6:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{[recv_c2] 'stablehlo.recv' op sources of source_target_pairs must not have duplicates, but has 0 twice}}
  %7:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{[recv_c3] 'stablehlo.recv' op targets of source_target_pairs must not have duplicates, but has 1 twice}}
  %8:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{[recv_c4] 'stablehlo.recv' op source_target_pairs must not be negative, but have -1}}
  %9:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{[recv_c5]}}
  %10:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{[recv_c5] 'stablehlo.recv' op the channel's type must be 3, from host to device, but is 2}}
  %11:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  // expected-error@+1 {{'stablehlo.recv' op needs at least one result}}
  "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (!stablehlo.token) -> ()
  // expected-error@+1 {{'stablehlo.recv' op result 0 must be a tensor, but is !stablehlo.token}}
  %12:2 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  // expected-error@+1 {{'stablehlo.recv' op result 0 must be a token, but is tensor<f32>}}
  %13 = "stablehlo.recv"(%b) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (!stablehlo.token) -> tensor<f32>
  func.return
}
