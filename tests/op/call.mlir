// call: functions before and after their callers, with any number of arguments and results.

func.func private @swap(%a: tensor<i64>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>) {
  func.return %b, %a : tensor<2xf32>, tensor<i64>
}

func.func @both_ways() {
  %a = stablehlo.constant dense<1> : tensor<i64>
  %b = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0:2 = func.call @swap(%a, %b) : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
  %1 = func.call @after(%0#1) : (tensor<i64>) -> tensor<i64>
  check.expect_eq_const %0#0, dense<[2.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %1, dense<4> : tensor<i64>
  check.expect_eq_const %a, dense<1> : tensor<i64>
  func.return
}

func.func private @after(%x: tensor<i64>) -> tensor<i64> {
  %0 = func.call @double(%x) : (tensor<i64>) -> tensor<i64>
  %1 = func.call @double(%0) : (tensor<i64>) -> tensor<i64>
  func.return %1 : tensor<i64>
}

func.func private @double(%x: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.add %x, %x : tensor<i64>
  func.return %0 : tensor<i64>
}
