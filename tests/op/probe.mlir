// Also: expect_serialized_eq

// A probed value passes through, and is found again by its name, and by when it was probed.
func.func @probed() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = interpreter.probe %0, probe_id = "first" : tensor<2xi32>
  %2 = stablehlo.add %1, %1 : tensor<2xi32>
  %3 = interpreter.probe %2, probe_id = "second" : tensor<2xi32>
  check.expect_eq_const %3, dense<[2, 4]> : tensor<2xi32>
  check.expect_serialized_eq %0, probe_id = "first" : tensor<2xi32>
  check.expect_serialized_eq %2, probe_id = "second", iter = 0 : tensor<2xi32>
  func.return
}

// -----

func.func @in_a_loop() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %p = interpreter.probe %i, probe_id = "i" : tensor<i32>
      %next = stablehlo.add %p, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
  check.expect_serialized_eq %zero, probe_id = "i", iter = 0 : tensor<i32>
  check.expect_serialized_eq %one, probe_id = "i", iter = 1 : tensor<i32>
  check.expect_serialized_eq %two, probe_id = "i", iter = 2 : tensor<i32>
  func.return
}
