// A function inside another: values are numbered on in the outer one behind it.
"func.func"() <{sym_name = "outer", function_type = () -> tensor<i32>}> ({
  %0 = stablehlo.constant dense<1> : tensor<i32>
  "func.func"() <{sym_name = "inner", function_type = () -> ()}> ({
    %0 = stablehlo.constant dense<2> : tensor<i32>
    "func.return"() : () -> ()
  }) : () -> ()
  %1 = stablehlo.add %0, %0 : tensor<i32>
  "func.return"(%1) : (tensor<i32>) -> ()
}) : () -> ()
