#!/bin/sh
# Demands of ops on their numbers: what is refused, and how (values: tests/op/dot_algorithm.mlir).
. "$(dirname "$0")/common.inc"

# refused WHY TYPE RESULT OP: a program of one op with operand %a is an error at its line, or with WHY = '' compiles.
refused() {
    cat >op.mlir <<END
func.func @main(%a: tensor<$2>) -> tensor<$3> {
  %r = $4 : (tensor<$2>$5) -> tensor<$3>
  return %r : tensor<$3>
}
END
    for backend in auto reference; do
        if [ "$1" ]; then
            exits 1 compile --backend $backend op.mlir --emit plan
            says 'op.mlir:2:' "$1"
        else
            exits 0 compile --backend $backend op.mlir --emit plan
        fi
    done
}
dot() {
    echo "stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = $1," \
        "rhs_precision_type = $1, accumulation_type = $2, lhs_component_count = 1, rhs_component_count = 1," \
        "num_primitive_operations = $3, allow_imprecise_accumulation = false>"
}
exponential() {
    echo "\"stablehlo.exponential\"(%a) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = $1, ulps = $2," \
        "mode = #stablehlo.result_accuracy_mode<$3>>}"
}

refused 'algorithm dot_f64_f64_f64_x1 needs operands and a result of real numbers' \
    '2xcomplex<f64>' 'complex<f64>' "$(dot f64 f64 1)" ', tensor<2xcomplex<f64>>'
refused '' 2xf32 f32 "$(dot tf32 f32 3)" ', tensor<2xf32>'
refused '' 2xi32 i32 "$(dot bf16 f32 3)" ', tensor<2xi32>'
refused 'result_accuracy of atol 0, rtol 0, ulps 1 cannot be granted' 2xf32 2xf32 "$(exponential 0.0 1 TOLERANCE)"
refused 'result_accuracy of atol 0, rtol 1e-09, ulps 0 cannot be granted' 2xf32 2xf32 "$(exponential 1.0e-9 0 TOLERANCE)"
refused '' 2xf32 2xf32 "$(exponential 0.0 3 TOLERANCE)"
refused '' 2xf64 2xf64 "$(exponential 1.0e-9 0 TOLERANCE)"
refused '' 2xf32 2xf32 "$(exponential 0.0 0 HIGHEST)"

finish
