#!/bin/sh
# Elementwise loops (src/lower/loops.c): four vectors at once, of large bodies two; those that compute much for each element and
# store past the caches prefetch what they read, and all do what the evaluator does.
. "$(dirname "$0")/common.inc"

needs_code_generator

# program TYPE OP...: each op of the value before and %y, or of the value before alone
program() {
    type=$1
    shift
    {
        echo "func.func @main(%x: tensor<$type>, %y: tensor<$type>) -> tensor<$type> {"
        n=0 last=%x
        for op; do
            case $op in
            exponential | tanh | negate) echo "  %$n = stablehlo.$op $last : tensor<$type>" ;;
            *) echo "  %$n = stablehlo.$op $last, %y : tensor<$type>" ;;
            esac
            last=%$n n=$((n + 1))
        done
        echo "  return $last : tensor<$type>"
        echo '}'
    } >elementwise.mlir
}
kernel() { exits 0 compile elementwise.mlir --emit kir --target-cpu x86-64-v3; }
lacks() { if grep -q "$1" out; then fail "$1 in the kernel"; else pass; fi; }

program 4096x4096xf32 exponential
kernel
says 'by 32 {' 'store.nt'
if [ "$(grep -c prefetch out)" = 2 ]; then pass; else fail 'two cache lines of f32 are prefetched'; fi
program 8192x8192xbf16 tanh
kernel
if [ "$(grep -c prefetch out)" = 1 ]; then pass; else fail 'one cache line of bf16 is prefetched'; fi
program 4096x4096xf32 negate
kernel
says 'store.nt'
lacks prefetch
program 512x512xf32 exponential
kernel
says 'by 32 {'
lacks prefetch
program 512x512xf32 tanh exponential $(yes add | head -n 140)
kernel
says 'by 16 {'

for type in 3000001xf32 1500003xf64 6000007xbf16; do
    program $type exponential multiply tanh
    exits 0 run elementwise.mlir --input random:3 --input random:4 --compare reference
done
finish
