#!/bin/sh
# Programs of sizes that no machine has: compiled or refused for lack of memory, with no number overflowing on the way, which
# the sanitizers see; runs are refused.
. "$(dirname "$0")/common.inc"

# compiles NAME: at each level; 0, or 3 where its sizes alone are too large.
compiles() {
    for level in 0 1 2 3; do
        run compile "$1.mlir" -O$level --emit plan
        if [ "$status" = 0 ] || { [ "$status" = 3 ] && grep -q 'out of memory' err; }; then pass; else fail "$1 -O$level"; fi
    done
}

# unary NAME TYPE OP: an op on one tensor.
unary() {
    printf 'func.func @main(%%x: tensor<%s>) -> tensor<%s> {\n  %%0 = %s\n  return %%0 : tensor<%s>\n}\n' "$2" "${4:-$2}" "$3" \
        "${4:-$2}" >"$1.mlir"
    compiles "$1"
}

# dot NAME LEFT RIGHT RESULT DIMENSIONS
dot() {
    cat >"$1.mlir" <<MLIR
func.func @main(%x: tensor<$2>, %y: tensor<$3>) -> tensor<$4> {
  %0 = stablehlo.dot_general %x, %y, $5 : (tensor<$2>, tensor<$3>) -> tensor<$4>
  return %0 : tensor<$4>
}
MLIR
    compiles "$1"
}

dot square 4194304x4194304xf32 4194304x4194304xf32 4194304x4194304xf32 'contracting_dims = [1] x [0]'
dot row 1x1048576xbf16 1048576x1099511627776xbf16 1x1099511627776xbf16 'contracting_dims = [1] x [0]'
dot batch 1099511627776x4x4xf32 1099511627776x4x4xf32 1099511627776x4x4xf32 \
    'batching_dims = [0] x [0], contracting_dims = [2] x [1]'
dot batches 1048576x1048576x16x16xf32 1048576x1048576x16x16xf32 1048576x1048576x16x16xf32 \
    'batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]'
dot bytes 2147483648x2147483648xi8 2147483648x2147483648xi8 2147483648x2147483648xi32 'contracting_dims = [1] x [0]'
dot deep 1048576x1048576x1048576xf32 1048576x1048576x1048576xf32 1048576x1048576xf32 'contracting_dims = [1, 2] x [1, 2]'
dot outer 1048576x1099511627776xf64 1xf64 1048576x1099511627776x1xf64 'contracting_dims = [] x []'
unary most 2305843009213693951xf32 'stablehlo.exponential %x : tensor<2305843009213693951xf32>'
unary transposed 1073741824x1073741824xf32 \
    'stablehlo.transpose %x, dims = [1, 0] : (tensor<1073741824x1073741824xf32>) -> tensor<1073741824x1073741824xf32>'
unary spread 1xf32 'stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<1xf32>) -> tensor<2305843009213693951x1xf32>' \
    2305843009213693951x1xf32

# A long chain of cheap ops that two kernels would recompute: kernels have a bounded number of ops.
awk 'BEGIN {
    n = 100000
    print "func.func @main(%0: tensor<8xf32>, %b: tensor<4x8xf32>, %c: tensor<8x3xf32>) -> (tensor<4x8xf32>, tensor<8x3xf32>) {"
    print "  %k = stablehlo.constant dense<1.5> : tensor<8xf32>"
    for (i = 1; i <= n; i++) print "  %" i " = stablehlo.add %" i - 1 ", %k : tensor<8xf32>"
    print "  %x = stablehlo.broadcast_in_dim %" n ", dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>"
    print "  %y = stablehlo.broadcast_in_dim %" n ", dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>"
    print "  %r = stablehlo.add %x, %b : tensor<4x8xf32>"
    print "  %s = stablehlo.multiply %y, %c : tensor<8x3xf32>"
    print "  return %r, %s : tensor<4x8xf32>, tensor<8x3xf32>"
    print "}"
}' >chain.mlir
usual exits 0 compile chain.mlir --emit kir # where arrays grow by one element

exits 3 run square.mlir --input random:1
finish
