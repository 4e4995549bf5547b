#!/bin/sh
# Custom calls that are written out as StableHLO: what is refused, and how (values: tests/op/fused_calls.mlir).
. "$(dirname "$0")/common.inc"

# refused WHY TARGET "TYPES" RESULT [ATTRIBUTES]: a call with arguments of these types is an error at its line.
refused() {
    why=$1 target=$2 types=$3 result=$4 attributes=${5:-}
    n=0 arguments='' operands=''
    for t in $types; do
        arguments="$arguments${arguments:+, }%a$n: tensor<$t>"
        operands="$operands${operands:+, }%a$n"
        n=$((n + 1))
    done
    list=$(echo "$arguments" | sed 's/%a[0-9]*: //g')
    cat >call.mlir <<END
func.func @main($arguments) -> tensor<$result> {
  %r = stablehlo.custom_call @fused_$target($operands) $attributes : ($list) -> tensor<$result>
  return %r : tensor<$result>
}
END
    for backend in auto reference; do
        exits 1 compile --backend $backend call.mlir --emit plan
        says 'call.mlir:2:' "$why"
    done
}
dict() { echo "{api_version = 4 : i32, backend_config = {$1}}"; }

refused 'needs 3 operands or more, but has 2' layer_norm '2x4xf32 4xf32' 2x4xf32
refused 'takes no more than 1 operands, but has 2' softmax '2xf32 2xf32' 2xf32
refused 'operand 0 must be of floating-point numbers' softmax 2xi32 2xi32
refused 'operand 1 must have the element type of operand 0' rms_norm '2x4xf32 4xbf16' 2x4xf32
refused "operand 0 must be a tensor of known sizes" softmax '?xf32' '?xf32'
refused "has no attribute 'axes'; expected axis" softmax 2xf32 2xf32 "$(dict 'axes = 1 : i64')"
refused "'axis' must be an integer" softmax 2xf32 2xf32 "$(dict 'axis = "x"')"
refused "'axes' must be a list of integers" rms_norm '2x4xf32 4xf32' 2x4xf32 '{backend_config = "{\22axes\22: [0.5]}"}'
refused "has no axis 2 in an operand of 1 dimensions" softmax 2xf32 2xf32 "$(dict 'axis = 2 : i64')"
refused 'backend_config must be an object' softmax 2xf32 2xf32 '{backend_config = "{\22axis\22: }"}'
refused 'backend_config must be an object' softmax 2xf32 2xf32 '{backend_config = "{\22axis\22: 0} x"}'
refused 'computes tensor<2xf32>, which is not its result type' softmax 2xf32 3xf32
refused 'needs query [..., heads, n, d]' scaled_dot_product_attention '1x3x4x8xf32 1x2x4x8xf32 1x2x4x8xf32' 1x3x4x8xf32
refused 'has_mask is true, but there are 3 operands' scaled_dot_product_attention '4x8xf32 4x8xf32 4x8xf32' 4x8xf32 \
    "$(dict 'has_mask = true')"
refused 'the shape of the mask does not fit' scaled_dot_product_attention '4x8xf32 4x8xf32 4x8xf32 3x4xf32' 4x8xf32
refused 'needs query [batch, 1, hidden]' depth_attention '2x3x4xf32 2x3x4xf32 2x3x4xf32' 2x3x4xf32
refused 'has an axis twice' layer_norm '2x4xf32 4xf32 4xf32' 2x4xf32 "$(dict 'axes = array<i64: 1, -1>')"
refused 'the shape of the scale does not fit' layer_norm '2x4xf32 3xf32 4xf32' 2x4xf32
refused 'the shape of the variance does not fit' batch_norm '2x4xf32 4xf32 4xf32 4xf32 2xf32' 2x4xf32
refused 'needs matrices [..., m, k] and [k, n]' matmul_bias_activation '2x4xf32 3x4xf32 4xf32' 2x4xf32
refused "there is no activation 'sine'" matmul_bias_activation '2x4xf32 4x4xf32 4xf32' 2x4xf32 "$(dict 'activation = "sine"')"
refused 'needs an operand [batch, spatial ..., features]' conv_bias_act '2x4xf32 4x4xf32' 2x4xf32
refused "do not fit the operand's" conv_bias_act '1x4x4x2xf32 2x2x3x2xf32' 1x3x3x2xf32
refused 'needs 2 strides and dilations' conv_bias_act '1x4x4x2xf32 2x2x2x2xf32' 1x3x3x2xf32 \
    "$(dict 'window_strides = array<i64: 1>')"
refused 'out of range' conv_bias_act '1x4x4x2xf32 2x2x2x2xf32' 1x3x3x2xf32 "$(dict 'window_strides = array<i64: 0, 1>')"
refused 'needs an even last dimension' rope '2x3xf32 2x3xf32' 2x3xf32
refused 'needs weights of one shape' ffn '2x4xf32 4x6xf32 6x4xf32 4x5xf32' 2x4xf32
refused 'is_gated is true, but there are 3 operands' ffn '2x4xf32 4x6xf32 6x4xf32' 2x4xf32 "$(dict 'is_gated = true')"

finish
