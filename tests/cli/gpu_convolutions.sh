#!/bin/sh
# --device gpu --backend library: convolutions and their gradients by a stand-in for cuDNN, on that for the driver.
. "$(dirname "$0")/gpu.inc"
export HILO_CUDNN_PATH="$tests" HILO_FAKE_CUDNN_REPORT="$dir/cudnn" HILO_CUBLASLT_PATH=

# convolution TYPE INPUT WINDOW RESULT NUMBERS WINDOW_ATTRIBUTES BATCH_GROUPS FEATURE_GROUPS
convolution() {
    cat <<EOP
func.func @main(%x: tensor<$2x$1>, %w: tensor<$3x$1>) -> tensor<$4x$1> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = $5, window = {$6}
    {batch_group_count = $7 : i64, feature_group_count = $8 : i64} : (tensor<$2x$1>, tensor<$3x$1>) -> tensor<$4x$1>
  return %0 : tensor<$4x$1>
}
EOP
}

# by COUNTS: hilo run of p.mlir equals the evaluator, with so many calls
by() {
    rm -f report cudnn
    exits 0 run p.mlir --no-cache --input random:1 --device gpu --backend library --compare reference
    if grep -qxF "$1" cudnn; then pass; else fail "$1 expected: $(cat cudnn)"; fi
    if grep -q ' leaks 0 ' report; then pass; else fail "leaks: $(cat report)"; fi
}

# ---- layouts, types, strides, padding, dilation, groups, dimensions: what each is, and how it was called
while read -r what type input window result numbers attributes batch_groups feature_groups; do
    attributes=$(printf %s "$attributes" | tr '~;' ' ,')
    convolution "$type" "$input" "$window" "$result" "$(printf %s "$numbers" | tr ';' ',')" "$attributes" "$batch_groups" \
        "$feature_groups" >p.mlir
    case $what in
    forward) by 'convolutions 1 toward inputs 0 toward windows 0 handles 1' ;;
    input) by 'convolutions 0 toward inputs 1 toward windows 0 handles 1' ;;
    window) by 'convolutions 0 toward inputs 0 toward windows 1 handles 1' ;;
    kernel) by 'convolutions 0 toward inputs 0 toward windows 0 handles 1' ;;
    esac
done <<'EOP'
forward f32 2x9x7x5 3x3x5x6 2x9x7x6 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] pad~=~[[1;1];[1;1]] 1 1
forward f32 2x5x9x7 6x5x3x3 2x6x5x4 [b;f;0;1]x[o;i;0;1]->[b;f;0;1] stride~=~[2;2];~pad~=~[[1;1];[1;1]] 1 1
forward f16 2x9x7x5 3x3x5x6 2x5x7x6 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] stride~=~[2;1];~pad~=~[[0;2];[1;1]] 1 1
forward bf16 1x4x8x8 6x4x3x2 1x6x4x7 [b;f;0;1]x[o;i;0;1]->[b;f;0;1] rhs_dilate~=~[2;1] 1 1
forward f32 2x8x8x6 3x3x2x9 2x6x6x9 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] pad~=~[[0;0];[0;0]] 1 3
forward f32 1x8x8x4 3x3x1x8 1x8x8x8 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] pad~=~[[1;1];[1;1]] 1 4
forward f32 3x10x4 3x4x5 3x10x5 [b;0;f]x[0;i;o]->[b;0;f] pad~=~[[1;1]] 1 1
forward f32 1x3x4x5x4 2x2x2x4x3 1x2x3x4x3 [b;0;1;2;f]x[0;1;2;i;o]->[b;0;1;2;f] pad~=~[[0;0];[0;0];[0;0]] 1 1
input f32 2x6x5x4 6x5x3x3 2x5x5x4 [b;f;0;1]x[i;o;0;1]->[b;f;0;1] pad~=~[[1;1];[1;1]];~reverse~=~[1;1] 1 1
input f32 1x6x3x3 6x5x3x3 1x5x7x7 [b;f;0;1]x[i;o;0;1]->[b;f;0;1] pad~=~[[2;2];[2;2]];~lhs_dilate~=~[2;2];~reverse~=~[1;1] 1 1
input f16 1x6x3x3 6x5x3x3 1x5x6x6 [b;f;0;1]x[i;o;0;1]->[b;f;0;1] pad~=~[[1;2];[1;2]];~lhs_dilate~=~[2;2] 1 1
input f32 1x4x4x4 4x1x3x3 1x4x6x6 [b;f;0;1]x[o;i;0;1]->[b;f;0;1] pad~=~[[2;2];[2;2]];~reverse~=~[1;1] 1 4
window f32 3x5x9x7 3x6x9x7 6x5x3x3 [f;b;0;1]x[i;o;0;1]->[f;b;0;1] pad~=~[[1;1];[1;1]] 1 1
window bf16 3x9x7x5 3x5x4x6 3x3x5x6 [f;0;1;b]x[i;0;1;o]->[0;1;b;f] pad~=~[[1;1];[1;1]];~rhs_dilate~=~[2;2] 1 1
window f32 2x4x8x8 2x8x6x6 8x1x3x3 [f;b;0;1]x[i;o;0;1]->[f;b;0;1] pad~=~[[0;0];[0;0]] 4 1
kernel f32 2x9x7x5 3x3x5x6 2x5x4x6 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] stride~=~[2;2];~pad~=~[[2;1];[2;1]];~reverse~=~[1;0] 1 1
kernel f64 2x9x7x5 3x3x5x6 2x9x7x6 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] pad~=~[[1;1];[1;1]] 1 1
input f32 2x9x7x5 3x3x5x6 2x6x4x6 [b;0;1;f]x[0;1;i;o]->[b;0;1;f] pad~=~[[-1;0];[-1;0]] 1 1
EOP

# ---- what is computed with it stays with the kernel, which is told; equal convolutions share what is prepared
cat >net.mlir <<'EOP'
func.func @main(%x: tensor<2x9x7x5xf32>, %w: tensor<3x3x5x5xf32>, %v: tensor<3x3x5x5xf32>)
    -> (tensor<2x9x7x5xf32>, tensor<2x9x7x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<2x9x7x5xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x7x5xf32>, tensor<3x3x5x5xf32>) -> tensor<2x9x7x5xf32>
  %1 = stablehlo.convolution(%0, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x7x5xf32>, tensor<3x3x5x5xf32>) -> tensor<2x9x7x5xf32>
  %2 = stablehlo.convolution(%x, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x7x5xf32>, tensor<3x3x5x5xf32>) -> tensor<2x9x7x5xf32>
  %3 = stablehlo.maximum %2, %zero : tensor<2x9x7x5xf32>
  return %1, %3 : tensor<2x9x7x5xf32>, tensor<2x9x7x5xf32>
}
EOP
cp net.mlir p.mlir
by 'convolutions 2 toward inputs 0 toward windows 0 handles 1'
exits 0 explain net.mlir --device gpu --backend library
says 'kernel cuDNN' "not cuDNN's: what is computed from it"
exits 0 compile net.mlir --device gpu --backend library --emit plan
says 'by cuDNN'
exits 0 compile net.mlir --device gpu --backend library -o net.hilo
rm -f cudnn
exits 0 run net.hilo --input random:1 --device gpu
[ ! -e cudnn ] || fail 'a file asks for a library'
HILO_CUDNN_PATH= exits 0 run net.mlir --no-cache --input random:1 --device gpu --backend library
says "no cuDNN (NVIDIA's cuDNN 9)" 'HILO_CUDNN_PATH is empty'

# ---- the same bits each time
exits 0 run net.mlir --no-cache --input random:1 --device gpu --backend library
cp out want
exits 0 run net.mlir --no-cache --input random:1 --device gpu --backend library --threads 1
same want 'convolutions by a library'

# ---- each of its calls fails once: kernels, or a status that names the call; no crash, no leak
convolution f32 1x4x4x3 3x3x3x4 1x2x2x4 '[b,0,1,f]x[0,1,i,o]->[b,0,1,f]' 'pad = [[0,0],[0,0]]' 1 1 >p.mlir
library_calls_fail cudnn HILO_FAKE_CUDNN_FAIL 83 6 'cudnn[A-Za-z]*: CUDNN_STATUS_[A-Z_]*' \
    'convolutions 1 toward inputs 0 toward windows 0 handles 1' p.mlir --input random:1 --input random:2

finish
