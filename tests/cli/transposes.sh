#!/bin/sh
# Transposes in tiles (src/lower/loops.c): of shapes and types whose lines and rows are whole cache lines or not, they do what
# the evaluator does, in one task and in several, and with kernels for other processors.
. "$(dirname "$0")/common.inc"

needs_code_generator

# transpose SHAPE PERMUTATION RESULT TYPE
transpose() {
    cat >transpose.mlir <<END
func.func @main(%x: tensor<$1x$4>) -> tensor<$3x$4> {
  %0 = stablehlo.transpose %x, dims = [$2] : (tensor<$1x$4>) -> tensor<$3x$4>
  return %0 : tensor<$3x$4>
}
END
}
agrees() {
    transpose "$@"
    for threads in 1 3; do
        exits 0 run transpose.mlir --input random:3 --threads $threads --compare reference
    done
    for cpu in x86-64-v2 x86-64-v3 x86-64-v4 neoverse-v1; do
        exits 0 run transpose.mlir --input random:3 --backend interpreter --target-cpu $cpu --compare reference
    done
}
for type in f32 f64 bf16 i8; do
    agrees 200x144 '1, 0' 144x200 $type
    agrees 67x133 '1, 0' 133x67 $type
    agrees 3x70x45 '0, 2, 1' 3x45x70 $type
    agrees 40x5x36 '2, 1, 0' 36x5x40 $type
    agrees 2x9x11x40 '0, 3, 1, 2' 2x40x9x11 $type
    agrees 2x40x9x11 '0, 2, 3, 1' 2x9x11x40 $type
done

# Results that caches do not hold: of each row a whole cache line is stored at once, past the caches; but not where rows end
# within a line. Tiles have 64 rows, others 32.
transpose 8192x8192 '1, 0' 8192x8192 f32
exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
says 'loop vector 16 by 8' 'store.nt' 'loop serial 8 {'
transpose 8191x8192 '1, 0' 8192x8191 f32
exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
if grep -q 'store.nt' out; then fail 'parts of lines are stored past the caches'; else pass; fi
transpose 1024x1024 '1, 0' 1024x1024 f32
exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
says 'loop vector 16 by 8' 'loop serial 4 {'
finish
