// while: no iteration, many, loops in loops, values from outside.

func.func @counts() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.constant dense<100000> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i64>, tensor<i64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i64>
    %more = stablehlo.add %sum, %i : tensor<i64>
    stablehlo.return %next, %more : tensor<i64>, tensor<i64>
  }
  check.expect_eq_const %r#1, dense<4999950000> : tensor<i64>
  func.return
}

func.func @never() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.while(%a = %x) : tensor<2xf32>
  cond {
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.add %a, %a : tensor<2xf32>
    stablehlo.return %b : tensor<2xf32>
  }
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %x, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}

// 3 * 4, one by one; the inner loop looks at the outer one's limit and swaps what it carries.
func.func @nested() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %in:3 = stablehlo.while(%j = %zero, %a = %sum, %b = %sum) : tensor<i32>, tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %j, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %k = stablehlo.add %j, %one : tensor<i32>
      %d = stablehlo.add %b, %one : tensor<i32>
      stablehlo.return %k, %d, %d : tensor<i32>, tensor<i32>, tensor<i32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %in#1 : tensor<i32>, tensor<i32>
  }
  check.expect_eq_const %r#1, dense<12> : tensor<i32>
  func.return
}
