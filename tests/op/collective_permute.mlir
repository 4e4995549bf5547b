// collective_permute: rings, loops, and zeros for who gets nothing; of a quantised type, what zero quantises to.

func.func private @ring(%x: tensor<i64>) -> tensor<i64> {
  %0 = "stablehlo.collective_permute"(%x) <{
    source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>
  }> : (tensor<i64>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

func.func private @loop(%x: tensor<i64>) -> tensor<i64> {
  %0 = "stablehlo.collective_permute"(%x) <{
    source_target_pairs = dense<[[0, 0], [2, 1]]> : tensor<2x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>
  }> : (tensor<i64>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

func.func private @quantised(%x: tensor<i8>) -> tensor<i8> {
  %q = stablehlo.bitcast_convert %x : (tensor<i8>) -> tensor<!quant.uniform<i8:f32, 0.5:7>>
  %0 = "stablehlo.collective_permute"(%q) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}>
    : (tensor<!quant.uniform<i8:f32, 0.5:7>>) -> tensor<!quant.uniform<i8:f32, 0.5:7>>
  %1 = stablehlo.bitcast_convert %0 : (tensor<!quant.uniform<i8:f32, 0.5:7>>) -> tensor<i8>
  func.return %1 : tensor<i8>
}

func.func @main() {
  %a = stablehlo.constant dense<1> : tensor<i64>
  %b = stablehlo.constant dense<2> : tensor<i64>
  %c = stablehlo.constant dense<3> : tensor<i64>
  %r:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@ring], [@ring], [@ring]]}
    : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  check.expect_eq_const %r#0, dense<3> : tensor<i64>
  check.expect_eq_const %r#1, dense<1> : tensor<i64>
  check.expect_eq_const %r#2, dense<2> : tensor<i64>
  %s:3 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@loop], [@loop], [@loop]]}
    : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  check.expect_eq_const %s#0, dense<1> : tensor<i64>
  check.expect_eq_const %s#1, dense<3> : tensor<i64>
  check.expect_eq_const %s#2, dense<0> : tensor<i64>
  %d = stablehlo.constant dense<100> : tensor<i8>
  %t:2 = "interpreter.run_parallel"(%d, %d) {programs = [[@quantised], [@quantised]]}
    : (tensor<i8>, tensor<i8>) -> (tensor<i8>, tensor<i8>)
  check.expect_eq_const %t#0, dense<7> : tensor<i8>
  check.expect_eq_const %t#1, dense<100> : tensor<i8>
  func.return
}
