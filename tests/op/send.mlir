// Also: recv
//
// send, recv: in order through a channel; between devices, to the partner that the pairs name.

func.func private @sender(%t: !stablehlo.token) -> !stablehlo.token {
  %a = stablehlo.constant dense<1> : tensor<i64>
  %b = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = "stablehlo.send"(%a, %b, %t) <{
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
  }> : (tensor<i64>, tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %1 = "stablehlo.send"(%b, %0) <{
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
  }> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  func.return %1 : !stablehlo.token
}

func.func private @receiver(%t: !stablehlo.token) -> (tensor<i64>, tensor<2xf32>, tensor<2xf32>) {
  %0:3 = "stablehlo.recv"(%t) <{
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true
  }> : (!stablehlo.token) -> (tensor<i64>, tensor<2xf32>, !stablehlo.token)
  %1:2 = "stablehlo.recv"(%0#2) <{
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true
  }> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  func.return %0#0, %0#1, %1#0 : tensor<i64>, tensor<2xf32>, tensor<2xf32>
}

func.func @through_the_host() {
  %t = stablehlo.create_token : !stablehlo.token
  %r:4 = "interpreter.run_parallel"(%t, %t) {programs = [[@sender], [@receiver]]}
    : (!stablehlo.token, !stablehlo.token) -> (!stablehlo.token, tensor<i64>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %r#1, dense<1> : tensor<i64>
  check.expect_eq_const %r#2, dense<[2.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %r#3, dense<[2.0, 3.0]> : tensor<2xf32>
  func.return
}

func.func private @pairs(%x: tensor<i64>) -> tensor<i64> {
  %t = stablehlo.create_token : !stablehlo.token
  %0 = "stablehlo.send"(%x, %t) <{
    channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>,
    source_target_pairs = dense<[[0, 2], [1, 0]]> : tensor<2x2xi64>
  }> : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
  %1:2 = "stablehlo.recv"(%0) <{
    channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>,
    source_target_pairs = dense<[[0, 2], [1, 0]]> : tensor<2x2xi64>
  }> : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
  func.return %1#0 : tensor<i64>
}

func.func @between_devices() {
  %a = stablehlo.constant dense<1> : tensor<i64>
  %b = stablehlo.constant dense<2> : tensor<i64>
  %c = stablehlo.constant dense<3> : tensor<i64>
  %r:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@pairs], [@pairs], [@pairs]]}
    : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  check.expect_eq_const %r#0, dense<2> : tensor<i64>
  check.expect_eq_const %r#1, dense<0> : tensor<i64>
  check.expect_eq_const %r#2, dense<1> : tensor<i64>
  func.return
}
