func.func private @declared(tensor<f32>) -> tensor<f32>

func.func @pair(%a: tensor<f32> {test.note = "first"}, %b: tensor<i32>) -> (tensor<i32>, tensor<f32> {test.note = "second"}) {
  func.return %b, %a : tensor<i32>, tensor<f32>
}

func.func @calls(%a: tensor<f32>, %b: tensor<i32>) -> tensor<f32> {
  %0:2 = func.call @pair(%a, %b) : (tensor<f32>, tensor<i32>) -> (tensor<i32>, tensor<f32>)
  %1 = func.call @declared(%0#1) : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// -----

func.func @twice() {
  func.return
}

// expected-error@+1 {{'func.func' op redefines the symbol 'twice'}}
func.func @twice() {
  func.return
}

// -----

func.func @too_few(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error@+1 {{returns 1 values, but the function's type 2}}
  func.return %a : tensor<f32>
}

func.func @type(%a: tensor<?xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{returns value 0 as tensor<?xf32>, but the function's type says tensor<2xf32>}}
  func.return %a : tensor<?xf32>
}

// expected-error@+1 {{region 0 must end with 'func.return'}}
func.func @end(%a: tensor<f32>) {
  %0 = stablehlo.abs %a : tensor<f32>
}

// A comparator that is a function may end as one that is a region does.
func.func @comparator(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}

func.func @comparator_type(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  // expected-error@+1 {{returns value 0 as tensor<f32>, but the function's type says tensor<i1>}}
  stablehlo.return %a : tensor<f32>
}

func.func @middle(%a: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{must be the last op of its block}}
  func.return %a : tensor<f32>
  func.return %a : tensor<f32>
}

// -----

// expected-error@+1 {{the body takes 0 arguments, but the function's type 1}}
"func.func"() ({
  func.return
}) {sym_name = "arguments", function_type = (tensor<f32>) -> ()} : () -> ()

// expected-error@+1 {{argument 0 of the body has type tensor<f32>, but tensor<i32> in the function's type}}
"func.func"() ({
^body(%a: tensor<f32>):
  func.return
}) {sym_name = "argument", function_type = (tensor<i32>) -> ()} : () -> ()

// expected-error@+1 {{attribute 'function_type' must be a function type}}
"func.func"() ({}) {sym_name = "no_function", function_type = tensor<f32>} : () -> ()

// expected-error@+1 {{a function must have a name}}
"func.func"() ({
  func.return
}) {sym_name = "", function_type = () -> ()} : () -> ()

// expected-error@+1 {{arg_attrs must have 0 elements, but has 1}}
"func.func"() ({
  func.return
}) {sym_name = "attributes", function_type = () -> (), arg_attrs = [{}]} : () -> ()

// expected-error@+1 {{res_attrs must be dictionaries, but element 0 is not}}
"func.func"() ({
^body(%a: tensor<f32>):
  func.return %a : tensor<f32>
}) {sym_name = "dictionaries", function_type = (tensor<f32>) -> tensor<f32>, res_attrs = [1 : i32]} : () -> ()

// -----

func.func @callee(%a: tensor<f32>) -> tensor<f32> {
  func.return %a : tensor<f32>
}

func.func @caller(%a: tensor<f32>, %b: tensor<2xf32>) -> tensor<f32> {
  // expected-error@+1 {{there is no function 'nobody'}}
  %0 = func.call @nobody(%a) : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{there is no function 'nobody_else'}}
  %n = func.call @nobody_else(%a) : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{has 0 operands, but 'callee' takes 1}}
  %1 = func.call @callee() : () -> tensor<f32>
  // expected-error@+1 {{operand 0 has type tensor<2xf32>, but 'callee' takes tensor<f32>}}
  %2 = func.call @callee(%b) : (tensor<2xf32>) -> tensor<f32>
  // expected-error@+1 {{has 2 results, but 'callee' gives 1}}
  %3:2 = func.call @callee(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // expected-error@+1 {{result 0 has type tensor<f64>, but 'callee' gives tensor<f32>}}
  %4 = func.call @callee(%a) : (tensor<f32>) -> tensor<f64>
  // A name is not blamed in a module that is wrong already.
  %5 = func.call @nobody(%a) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

func.func @outer() {
  // expected-error@+1 {{must be in a module}}
  func.func @inner() {
    func.return
  }
  func.return
}
