func.func @one(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @feed() -> tensor<f32> {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  func.return %x : tensor<f32>
}

func.func @processes(%a: tensor<f32>) {
  %0:2 = "interpreter.run_parallel"(%a, %a) {programs = [[@one, @one]]} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %1:2 = "interpreter.run_parallel"(%a, %a) {infeed = [@feed, @feed], programs = [[@one], [@one]]} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return
}

// -----

func.func @one(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @feed() -> tensor<f32> {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  func.return %x : tensor<f32>
}

func.func @feed_two() -> (tensor<f32>, tensor<f32>) {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  func.return %x, %x : tensor<f32>, tensor<f32>
}

func.func @feed_token() -> !stablehlo.token {
  %t = stablehlo.create_token : !stablehlo.token
  func.return %t : !stablehlo.token
}

func.func @refused(%a: tensor<f32>, %b: tensor<f64>) {
  // expected-error@+1 {{'interpreter.run_parallel' op programs must not be empty}}
  "interpreter.run_parallel"() {programs = []} : () -> ()
  // expected-error@+1 {{'interpreter.run_parallel' op programs must not be empty}}
  "interpreter.run_parallel"() {programs = [[]]} : () -> ()
  // expected-error@+1 {{'interpreter.run_parallel' op programs must have 1 partitions throughout, but replica 1 has 2}}
  %0:3 = "interpreter.run_parallel"(%a, %a, %a) {programs = [[@one], [@one, @one]]} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // expected-error@+1 {{'interpreter.run_parallel' op has 0 operands, which are not enough for all programs}}
  %1 = "interpreter.run_parallel"() {programs = [[@one]]} : () -> tensor<f32>
  // expected-error@+1 {{'interpreter.run_parallel' op has 2 operands, but the programs take 1}}
  %2 = "interpreter.run_parallel"(%a, %a) {programs = [[@one]]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{'interpreter.run_parallel' op operand 0 has type tensor<f64>, but 'one' takes tensor<f32>}}
  %3 = "interpreter.run_parallel"(%b) {programs = [[@one]]} : (tensor<f64>) -> tensor<f32>
  // expected-error@+1 {{'interpreter.run_parallel' op has 0 results, but the programs give more}}
  "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<f32>) -> ()
  // expected-error@+1 {{'interpreter.run_parallel' op has 2 results, but the programs give 1}}
  %4:2 = "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{'interpreter.run_parallel' op result 0 has the inferred type tensor<f32>}}
  %5 = "interpreter.run_parallel"(%a) {programs = [[@one]]} : (tensor<f32>) -> tensor<f64>
  // expected-error@+1 {{'interpreter.run_parallel' op infeed must not be empty}}
  %6 = "interpreter.run_parallel"(%a) {infeed = [], programs = [[@one]]} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{'interpreter.run_parallel' op 'feed_two' must return one tensor for infeed, but returns 2}}
  %7 = "interpreter.run_parallel"(%a) {infeed = [@feed_two], programs = [[@one]]} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{'interpreter.run_parallel' op 'feed_token' must return a tensor for infeed, but returns !stablehlo.token}}
  %8 = "interpreter.run_parallel"(%a) {infeed = [@feed_token], programs = [[@one]]} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @no_such_function() {
  // expected-error@+1 {{'interpreter.run_parallel' op there is no function 'missing'}}
  "interpreter.run_parallel"() {programs = [[@missing]]} : () -> ()
  func.return
}

// -----

func.func @one(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @no_such_infeed(%a: tensor<f32>) {
  // expected-error@+1 {{'interpreter.run_parallel' op there is no function 'missing'}}
  %0 = "interpreter.run_parallel"(%a) {infeed = [@missing], programs = [[@one]]} : (tensor<f32>) -> tensor<f32>
  func.return
}
