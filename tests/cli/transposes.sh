#!/bin/sh
# Transposes (src/lower/transpose.c): of shapes and types whose lines and rows are whole cache lines or not, they do what the
# evaluator does, in one task and in several, and with kernels for other processors.
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

# Results that caches do not hold go past them, through tiles in scratch memory: tiles that are cut short in either direction,
# lines shorter than a tile is wide, and lines that are moved in blocks, which have fewer at the end.
far() {
    transpose "$@"
    for threads in 1 3; do
        exits 0 run transpose.mlir --input random:3 --threads $threads --compare reference
    done
    exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
    says 'store.nt'
}
staged() {
    far "$@"
    says ': scratch ' 'prefetch b'
}
staged 3104x2957 '1, 0' 2957x3104 f32
staged 2056x2100 '1, 0' 2100x2056 f64
staged 3232x5333 '1, 0' 5333x3232 bf16
staged 6464x5333 '1, 0' 5333x6464 i8
staged 96x11x8200 '2, 1, 0' 8200x11x96 f32
staged 40x16x13x1100 '0, 2, 3, 1' 40x13x1100x16 f32
far 9x1001x16x64 '0, 2, 1, 3' 9x16x1001x64 f32
says 'prefetch b' 'loop serial 16 {'
far 5x7x61x13x320 '3, 2, 0, 1, 4' 13x61x5x7x320 f32
says 'loop serial 793 {'
far 3x90000x32 '1, 0, 2' 90000x3x32 f32
cat >computed.mlir <<END
func.func @main(%x: tensor<2960x3104xf32>, %y: tensor<3104x2960xf32>) -> (tensor<3104x2960xf32>, tensor<3104x2960xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2960x3104xf32>) -> tensor<3104x2960xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3104x2960xf32>
  return %0, %1 : tensor<3104x2960xf32>, tensor<3104x2960xf32>
}
END
exits 0 run computed.mlir --input random:3 --threads 3 --compare reference
exits 0 compile computed.mlir --emit kir --target-cpu x86-64-v3
says ': scratch '
transpose 2064x2136 '1, 0' 2136x2064 f32
for cpu in x86-64-v2 x86-64-v4; do
    exits 0 run transpose.mlir --input random:3 --backend interpreter --target-cpu $cpu --compare reference
    exits 0 compile transpose.mlir --emit kir --target-cpu $cpu
    says ': scratch '
done

# but not where lines end within a cache line, whose parts stay in the caches; nor smaller results, in tiles of 32 rows
transpose 8191x8192 '1, 0' 8192x8191 f32
exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
if grep -q -e 'store.nt' -e ': scratch' out; then fail 'parts of lines are stored past the caches'; else pass; fi
transpose 1024x1024 '1, 0' 1024x1024 f32
exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
if [ ! "$tortured" ]; then
    says 'loop vector 16 by 8' 'loop serial 4 {'
    transpose 8191x8192 '1, 0' 8192x8191 f32
    exits 0 compile transpose.mlir --emit kir --target-cpu x86-64-v3
    says 'loop serial 8 {'
fi

# Narrow elements are interleaved as they are in memory, and kept bit by bit: NaN with its payload, which is not rounded again.
transpose 3232x5328 '1, 0' 5328x3232 bf16
exits 0 compile transpose.mlir --emit asm --target-cpu x86-64-v3
says vpunpcklwd vpunpckhwd
if grep -q 'vpackusdw\|vpmovzxwd\|vpslld' out; then fail 'elements that are moved are widened'; else pass; fi
cat >nan.mlir <<END
func.func @main(%b: tensor<64x48xui16>) -> tensor<48x64xui16> {
  %x = stablehlo.bitcast_convert %b : (tensor<64x48xui16>) -> tensor<64x48xbf16>
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x48xbf16>) -> tensor<48x64xbf16>
  %c = stablehlo.bitcast_convert %y : (tensor<48x64xbf16>) -> tensor<48x64xui16>
  return %c : tensor<48x64xui16>
}
END
codes=$(awk 'BEGIN { for (i = 0; i < 64 * 48; i++) printf "%s%d", i ? "," : "", 32640 - 16 + i }')
for tier in baseline optimised; do
    exits 0 run nan.mlir --tier $tier --input "64x48xui16=$codes" --compare reference
done

finish
