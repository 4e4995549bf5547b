func.func private @impl(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @composites(%a: tensor<f32>) {
  %0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.composite"(%a) {name = "a1.b_c.$d.9", decomposition = @impl, version = 3 : i32, composite_attributes = {k = 1 : i64}} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func private @impl(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @refused(%a: tensor<f32>, %b: tensor<f64>) {
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is ""}}
  %0 = "stablehlo.composite"(%a) {name = "", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "op"}}
  %1 = "stablehlo.composite"(%a) {name = "op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "my."}}
  %2 = "stablehlo.composite"(%a) {name = "my.", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is ".op"}}
  %3 = "stablehlo.composite"(%a) {name = ".op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "my..op"}}
  %4 = "stablehlo.composite"(%a) {name = "my..op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "1my.op"}}
  %5 = "stablehlo.composite"(%a) {name = "1my.op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "my.o-p"}}
  %6 = "stablehlo.composite"(%a) {name = "my.o-p", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "m$y.op"}}
  %7 = "stablehlo.composite"(%a) {name = "m$y.op", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "_a.b"}}
  %8 = "stablehlo.composite"(%a) {name = "_a.b", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c1] 'stablehlo.composite' op name must be a namespace and an op name, such as "my_namespace.my_op", but is "my.op."}}
  %9 = "stablehlo.composite"(%a) {name = "my.op.", decomposition = @impl} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c3] 'stablehlo.composite' op has 2 operands, but 'impl' takes 1}}
  %10 = "stablehlo.composite"(%a, %a) {name = "my.op", decomposition = @impl} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{[composite_c3] 'stablehlo.composite' op operand 0 has type tensor<f64>, but 'impl' takes tensor<f32>}}
  %11 = "stablehlo.composite"(%b) {name = "my.op", decomposition = @impl} : (tensor<f64>) -> tensor<f32>
  // expected-error@+1 {{[composite_c4] 'stablehlo.composite' op has 2 results, but 'impl' gives 1}}
  %12:2 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @impl} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{[composite_c4] 'stablehlo.composite' op result 0 has type tensor<f64>, but 'impl' gives tensor<f32>}}
  %13 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @impl} : (tensor<f32>) -> tensor<f64>
  func.return
}

// -----

func.func private @impl(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @no_such_function(%a: tensor<f32>) {
  // expected-error@+1 {{[composite_c2] 'stablehlo.composite' op there is no function 'missing'}}
  %0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @missing} : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func private @impl(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

func.func @name_in_a_name(%a: tensor<f32>) {
  // expected-error@+1 {{[composite_c2] 'stablehlo.composite' op there is no function 'impl'}}
  %0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @impl::@impl} : (tensor<f32>) -> tensor<f32>
  func.return
}
