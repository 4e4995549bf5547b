func.func @calls(%a: tensor<2x3xf32>, %b: !stablehlo.token, %c: tensor<*xf32>, %d: tuple<tensor<2x3xf32>, tensor<f32>>, %e: tensor<f32>) {
  %0:2 = "stablehlo.custom_call"(%a, %b) {call_target_name = "foo", api_version = 2 : i32, backend_config = "text", has_side_effect = true} : (tensor<2x3xf32>, !stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
  "stablehlo.custom_call"() {call_target_name = "foo", api_version = 4 : i32, backend_config = {k = 1 : i64}} : () -> ()
  %1 = "stablehlo.custom_call"(%c) {call_target_name = "foo"} : (tensor<*xf32>) -> tensor<*xf32>
  %2 = "stablehlo.custom_call"(%a, %b) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>, !stablehlo.token) -> tensor<2x3xf32>
  %3 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, !stablehlo.token>
  %4 = "stablehlo.custom_call"(%d) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [1]>]} : (tuple<tensor<2x3xf32>, tensor<f32>>) -> tensor<f32>
  %5:2 = "stablehlo.custom_call"(%a, %e) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x3xf32>)
  func.return
}

func.func @buffers(%a: tensor<2xf32>, %b: memref<2xf32>, %c: tuple<tuple<memref<2xf32>>, memref<2xf32>>) {
  %0 = "stablehlo.custom_call"() {call_target_name = "CreateBuffer"} : () -> memref<2xf32>
  %1 = "stablehlo.custom_call"(%a) {call_target_name = "Pin"} : (tensor<2xf32>) -> memref<2xf32>
  %2 = "stablehlo.custom_call"(%b) {call_target_name = "Unpin"} : (memref<2xf32>) -> tensor<2xf32>
  %3 = "stablehlo.custom_call"(%b) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (memref<2xf32>) -> memref<2xf32>
  %4 = "stablehlo.custom_call"(%c) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = [0, 0]>, #stablehlo.output_operand_alias<output_tuple_indices = [0, 0], operand_index = 0, operand_tuple_indices = [1]>]} : (tuple<tuple<memref<2xf32>>, memref<2xf32>>) -> tuple<tuple<memref<2xf32>>, memref<2xf32>>
  func.return
}

// -----

func.func @attributes(%a: tensor<2x3xf32>, %b: tuple<tensor<2x3xf32>>, %c: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.custom_call' op there is no api_version 5}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", api_version = 5 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op backend_config of api_version 4 must be a dictionary}}
  %1 = "stablehlo.custom_call"(%a) {call_target_name = "foo", api_version = 4 : i32, backend_config = "text"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op backend_config of api_version 1 must be a string}}
  %2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", backend_config = {k = 1 : i64}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op must have layouts for both operands and results, or none}}
  %3 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op operand_layouts must have 1 elements, but has 2}}
  %4 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op result_layouts must have 2 elements, but has 1}}
  %5 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  // expected-error@+1 {{'stablehlo.custom_call' op the layout of operand 0 must order the dimensions of tensor<2x3xf32>, but is [0, 2]}}
  %6 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 2]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op the layout of result 0 must order the dimensions of tensor<2x3xf32>, but is [0, 0]}}
  %7 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op the layout of operand 0 must order the dimensions of tensor<2x3xf32>, but is [0]}}
  %8 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op the layout of operand 0 must be a list of integers}}
  %9 = "stablehlo.custom_call"(%a) {call_target_name = "foo", operand_layouts = [1 : i64], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op operand 0 is a tuple, which cannot have a layout}}
  %10 = "stablehlo.custom_call"(%b) {call_target_name = "foo", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tuple<tensor<2x3xf32>>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op operand 0 of type !stablehlo.token cannot have the layout [0]}}
  %11 = "stablehlo.custom_call"(%c) {call_target_name = "foo", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (!stablehlo.token) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @aliases(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op output_operand_aliases must be of aliases}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [1 : i64]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op operand_index of an alias must be in [0, 1), but has 1}}
  %1 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op operand_tuple_indices [0] of an alias are out of range}}
  %2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [0]>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op output_tuple_indices [2] of an alias are out of range}}
  %3:2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // expected-error@+1 {{'stablehlo.custom_call' op output_tuple_indices [-1] of an alias are out of range}}
  %4:2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [-1], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // expected-error@+1 {{'stablehlo.custom_call' op an alias must be of one type, but the operand has tensor<2x3xf32> and the result tensor<f32>}}
  %5 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<f32>
  func.return
}

func.func @buffers(%a: memref<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op the result buffer at [] has no alias}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "foo"} : (memref<2xf32>) -> memref<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op the result buffer at [1, 0] has no alias}}
  %1:2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (memref<2xf32>) -> (memref<2xf32>, tuple<memref<2xf32>>)
  // expected-error@+1 {{'stablehlo.custom_call' op the result buffer at [] has more than one alias}}
  %2 = "stablehlo.custom_call"(%a, %a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (memref<2xf32>, memref<2xf32>) -> memref<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op the buffer at [] of operand 0 has more than one alias}}
  %3:2 = "stablehlo.custom_call"(%a) {call_target_name = "foo", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]} : (memref<2xf32>) -> (memref<2xf32>, memref<2xf32>)
  // expected-error@+1 {{'stablehlo.custom_call' op 'CreateBuffer' must take nothing}}
  %4 = "stablehlo.custom_call"(%b) {call_target_name = "CreateBuffer"} : (tensor<2xf32>) -> memref<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'CreateBuffer' must return one buffer}}
  %5 = "stablehlo.custom_call"() {call_target_name = "CreateBuffer"} : () -> tensor<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'CreateBuffer' must return one buffer}}
  %6:2 = "stablehlo.custom_call"() {call_target_name = "CreateBuffer"} : () -> (memref<2xf32>, memref<2xf32>)
  // expected-error@+1 {{'stablehlo.custom_call' op 'Pin' must take one tensor}}
  %7 = "stablehlo.custom_call"(%a) {call_target_name = "Pin"} : (memref<2xf32>) -> memref<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'Pin' must return one buffer}}
  %8 = "stablehlo.custom_call"(%b) {call_target_name = "Pin"} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'Pin' must keep the shape and the elements, but takes tensor<2xf32> and returns memref<3xf32>}}
  %9 = "stablehlo.custom_call"(%b) {call_target_name = "Pin"} : (tensor<2xf32>) -> memref<3xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'Unpin' must take one buffer}}
  %10 = "stablehlo.custom_call"(%b) {call_target_name = "Unpin"} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'Unpin' must return one tensor}}
  %11 = "stablehlo.custom_call"(%a) {call_target_name = "Unpin"} : (memref<2xf32>) -> memref<2xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op 'Unpin' must keep the shape and the elements, but takes memref<2xf32> and returns tensor<2xi32>}}
  %12 = "stablehlo.custom_call"(%a) {call_target_name = "Unpin"} : (memref<2xf32>) -> tensor<2xi32>
  func.return
}
