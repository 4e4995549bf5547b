// A function inside another is read and printed, with the outer numbering continued after it, but not valid.
"func.func"() <{sym_name = "outer", function_type = () -> tensor<i32>}> ({
  %0 = stablehlo.constant dense<1> : tensor<i32>
  // expected-error@+1 {{'func.func' op must be in a module}}
  "func.func"() <{sym_name = "inner", function_type = () -> ()}> ({
    %0 = stablehlo.constant dense<2> : tensor<i32>
    "func.return"() : () -> ()
  }) : () -> ()
  %1 = stablehlo.add %0, %0 : tensor<i32>
  "func.return"(%1) : (tensor<i32>) -> ()
}) : () -> ()
