// Long rows, which are reduced several at once; their number is not a multiple of that. A barrier keeps the operand in memory.
func.func @sum_and_greatest() {
  %row = stablehlo.iota dim = 0 : tensor<67x2050xf32>
  %column = stablehlo.iota dim = 1 : tensor<67x2050xi32>
  %c41 = stablehlo.constant dense<41> : tensor<67x2050xi32>
  %r = stablehlo.remainder %column, %c41 : tensor<67x2050xi32>
  %rf = stablehlo.convert %r : (tensor<67x2050xi32>) -> tensor<67x2050xf32>
  %x0 = stablehlo.add %row, %rf : tensor<67x2050xf32>
  %x = stablehlo.optimization_barrier %x0 : tensor<67x2050xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<67x2050xf32>, tensor<f32>) -> tensor<67xf32>
  %y = stablehlo.optimization_barrier %x0 : tensor<67x2050xf32>
  %max = stablehlo.reduce(%y init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<67x2050xf32>, tensor<f32>) -> tensor<67xf32>
  %i = stablehlo.iota dim = 0 : tensor<67xf32>
  %c2050 = stablehlo.constant dense<2050.0> : tensor<67xf32>
  %c41000 = stablehlo.constant dense<41000.0> : tensor<67xf32>
  %c40 = stablehlo.constant dense<40.0> : tensor<67xf32>
  %s0 = stablehlo.multiply %i, %c2050 : tensor<67xf32>
  %s = stablehlo.add %s0, %c41000 : tensor<67xf32>
  %m = stablehlo.add %i, %c40 : tensor<67xf32>
  check.expect_eq %sum, %s : tensor<67xf32>
  check.expect_eq %max, %m : tensor<67xf32>
  return
}

// Row i has a NaN where i is a multiple of 16, else zeros of both signs, the positive one in column 30 i if i is odd.
func.func @signs_and_nans() {
  %row = stablehlo.iota dim = 0 : tensor<67x2050xi32>
  %column = stablehlo.iota dim = 1 : tensor<67x2050xi32>
  %c30 = stablehlo.constant dense<30> : tensor<67x2050xi32>
  %c1 = stablehlo.constant dense<1> : tensor<67x2050xi32>
  %c0 = stablehlo.constant dense<0> : tensor<67x2050xi32>
  %c15 = stablehlo.constant dense<15> : tensor<67x2050xi32>
  %at = stablehlo.multiply %row, %c30 : tensor<67x2050xi32>
  %here = stablehlo.compare EQ, %at, %column : (tensor<67x2050xi32>, tensor<67x2050xi32>) -> tensor<67x2050xi1>
  %low = stablehlo.and %row, %c1 : tensor<67x2050xi32>
  %odd = stablehlo.compare NE, %low, %c0 : (tensor<67x2050xi32>, tensor<67x2050xi32>) -> tensor<67x2050xi1>
  %low4 = stablehlo.and %row, %c15 : tensor<67x2050xi32>
  %sixteenth = stablehlo.compare EQ, %low4, %c0 : (tensor<67x2050xi32>, tensor<67x2050xi32>) -> tensor<67x2050xi1>
  %positive = stablehlo.and %here, %odd : tensor<67x2050xi1>
  %nan = stablehlo.and %here, %sixteenth : tensor<67x2050xi1>
  %plus = stablehlo.constant dense<0.0> : tensor<67x2050xf32>
  %minus = stablehlo.constant dense<-0.0> : tensor<67x2050xf32>
  %nans = stablehlo.constant dense<0x7FC00000> : tensor<67x2050xf32>
  %x0 = stablehlo.select %positive, %plus, %minus : tensor<67x2050xi1>, tensor<67x2050xf32>
  %x1 = stablehlo.select %nan, %nans, %x0 : tensor<67x2050xi1>, tensor<67x2050xf32>
  %x = stablehlo.optimization_barrier %x1 : tensor<67x2050xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<67x2050xf32>, tensor<f32>) -> tensor<67xf32>
  %is_nan = stablehlo.compare NE, %max, %max : (tensor<67xf32>, tensor<67xf32>) -> tensor<67xi1>
  %bits0 = stablehlo.bitcast_convert %max : (tensor<67xf32>) -> tensor<67xi32>
  %v_one = stablehlo.constant dense<1> : tensor<67xi32>
  %v_zero = stablehlo.constant dense<0> : tensor<67xi32>
  %v_minus = stablehlo.constant dense<0x80000000> : tensor<67xi32>
  %v_fifteen = stablehlo.constant dense<15> : tensor<67xi32>
  %bits = stablehlo.select %is_nan, %v_one, %bits0 : tensor<67xi1>, tensor<67xi32>
  %i = stablehlo.iota dim = 0 : tensor<67xi32>
  %i1 = stablehlo.and %i, %v_one : tensor<67xi32>
  %i16 = stablehlo.and %i, %v_fifteen : tensor<67xi32>
  %i_odd = stablehlo.compare NE, %i1, %v_zero : (tensor<67xi32>, tensor<67xi32>) -> tensor<67xi1>
  %i_nan = stablehlo.compare EQ, %i16, %v_zero : (tensor<67xi32>, tensor<67xi32>) -> tensor<67xi1>
  %e0 = stablehlo.select %i_odd, %v_zero, %v_minus : tensor<67xi1>, tensor<67xi32>
  %e = stablehlo.select %i_nan, %v_one, %e0 : tensor<67xi1>, tensor<67xi32>
  check.expect_eq %bits, %e : tensor<67xi32>
  return
}
