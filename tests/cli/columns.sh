#!/bin/sh
# Reductions of long columns (src/lower/columns.c): results so far are in scratch memory, in types and with ops of all kinds;
# they are what the evaluator computes, and the bits do not depend on threads.
. "$(dirname "$0")/common.inc"

needs_code_generator

# reduce OP TYPE INITIAL SHAPE RESULT DIMENSIONS: of a value that is computed, and a result from which another is computed
reduce() {
    cat >columns.mlir <<END
func.func @main(%x: tensor<$4x$2>, %b: tensor<$5x$2>) -> tensor<$5x$2> {
  %z = stablehlo.constant dense<$3> : tensor<$2>
  %y = stablehlo.add %x, %x : tensor<$4x$2>
  %r = stablehlo.reduce(%y init: %z) applies stablehlo.$1 across dimensions = [$6]
       : (tensor<$4x$2>, tensor<$2>) -> tensor<$5x$2>
  %s = stablehlo.subtract %r, %b : tensor<$5x$2>
  return %s : tensor<$5x$2>
}
END
    exits 0 run columns.mlir --input random:3 --compare reference --tolerance 1e-5
    exits 0 run columns.mlir --input random:3 --backend interpreter --target-cpu x86-64-v3 --compare reference --tolerance 1e-5
    for threads in 1 3; do
        exits 0 run columns.mlir --input random:3 --threads $threads -o $threads.npy
    done
    cmp -s 1.npy 3.npy && pass || fail "$*: other bits for other threads"
    exits 0 compile columns.mlir --emit kir --target-cpu x86-64-v3 --threads 2
}
scratch() {
    if grep -q ': scratch ' out; then pass; else fail "$1: no results in scratch memory"; fi
}
reduce add f32 1.5 203x5000 5000 0
scratch 'sum of 203 rows'
reduce add f32 0.0 1x6x70x2x2500 2x2500 '0, 1, 2'
scratch 'three dimensions'
reduce maximum f32 0xFF800000 401x4097 4097 0
scratch 'maximum of columns that tasks do not divide'
reduce minimum f64 0x7FF0000000000000 101x4096 4096 0
scratch 'f64'
reduce add i32 7 300x4500 4500 0
scratch 'integers'
reduce multiply f32 1.0 2x300000 300000 0
scratch 'two rows'
# of narrow types, and of matrices that the L2 cache holds or whose lines are short, results are in registers; not the last two
# in the torture build, which takes any for large ones
for other in 'add bf16 0.0 403x5000 5000 0' 'add f32 0.0 20x5000 5000 0' 'add f32 0.0 9000x200 200 0'; do
    # shellcheck disable=SC2086
    set -- $other
    if [ "$tortured" ] && [ "$2" = f32 ]; then continue; fi
    cat >columns.mlir <<END
func.func @main(%x: tensor<$4x$2>) -> tensor<$5x$2> {
  %z = stablehlo.constant dense<$3> : tensor<$2>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.$1 across dimensions = [$6]
       : (tensor<$4x$2>, tensor<$2>) -> tensor<$5x$2>
  return %r : tensor<$5x$2>
}
END
    exits 0 compile columns.mlir --emit kir --target-cpu x86-64-v3 --threads 2
    if grep -q ': scratch ' out; then fail "$other: results in scratch memory"; else pass; fi
done
finish
