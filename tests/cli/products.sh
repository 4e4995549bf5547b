#!/bin/sh
# Matrix products of shapes at which schedules change (src/lower/contract.c), in every type: machine code for this processor,
# and kernels for others by the interpreter, which checks each access, compute what the evaluator does; the bits do not depend
# on threads.
. "$(dirname "$0")/common.inc"

# product BATCH ROWS SUM COLUMNS TYPE [t]: with t the right operand is contiguous along the sum.
product() {
    result=$5 batch='' dims=''
    sum=1
    case $5 in i8 | ui8) result=i32 ;; esac
    if [ "$1" -gt 1 ]; then
        batch=$1x dims='batching_dims = [0] x [0], ' sum=2
    fi
    if [ "$6" ]; then
        right="$batch$4x$3x$5" other=$sum
    else
        right="$batch$3x$4x$5" other=$((sum - 1))
    fi
    types="(tensor<$batch$2x$3x$5>, tensor<$right>) -> tensor<$batch$2x$4x$result>"
    cat >product.mlir <<END
func.func @main(%a: tensor<$batch$2x$3x$5>, %b: tensor<$right>) -> tensor<$batch$2x$4x$result> {
  %c = stablehlo.dot_general %a, %b, ${dims}contracting_dims = [$sum] x [$other] : $types
  return %c : tensor<$batch$2x$4x$result>
}
END
    tolerance=3e-6
    case $5 in bf16) tolerance=1e-2 ;; f16) tolerance=2e-3 ;; esac
    exits 0 run product.mlir --input random:3 --compare reference --tolerance $tolerance
    for threads in 1 3; do
        exits 0 run product.mlir --input random:3 --threads $threads -o product.$threads.npy
    done
    cmp -s product.1.npy product.3.npy && pass || fail "$*: other bits for other threads"
    for cpu in x86-64-v3 x86-64-v4 sapphirerapids znver4 lunarlake neoverse-v1; do
        exits 0 run product.mlir --input random:3 --backend interpreter --target-cpu $cpu --compare reference \
            --tolerance $tolerance
    done
}

needs_code_generator

product 40 8 8 8 f32 t
product 9 5 7 9 bf16
product 20 3 12 8 bf16 t
product 6 16 16 16 f16 t
product 1 5 60 20 bf16
product 1 7 90 24 f16 t
product 1 2 40 16 bf16 t
product 1 8 64 64 f32
product 1 14 33 100 f32
product 1 13 30 70 i8 t
product 1 8 150 1000 f32
product 1 25 70 40 i8
product 1 25 70 40 ui8
product 1 30 131 70 bf16
product 1 30 131 70 bf16 t
product 1 128 300 10 f32
product 1 128 300 10 f32 t

# Constant weights of which the L2 cache does not hold a panel (of 64 columns): a block has all rows, so that weights are read
# once, and prefetches what it reads next.
weights() { # ROWS SUM
    awk -v rows="$1" -v n="$2" 'BEGIN {
        line = "3F800000BF8000003F000000BF000000"
        for (i = 0; i < 8; i++) line = line line
        printf "func.func @main(%%a: tensor<%dx%dxf32>) -> tensor<%dx1024xf32> {\n", rows, n, rows
        printf "  %%b = stablehlo.constant dense<\"0x"
        for (i = 0; i < n; i++) printf "%s", line
        printf "\"> : tensor<%dx1024xf32>\n", n
        printf "  %%c = stablehlo.dot_general %%a, %%b, contracting_dims = [1] x [0] : "
        printf "(tensor<%dx%dxf32>, tensor<%dx1024xf32>) -> tensor<%dx1024xf32>\n", rows, n, n, rows
        printf "  return %%c : tensor<%dx1024xf32>\n}\n", rows
    }' >weights.mlir
    exits 0 compile weights.mlir --emit kir --target-cpu x86-64-v4
}
weights 120 2304
usual says 'loop serial 20 {' 'prefetch b0'

# Weights that are packed in a block, by rows that are read in place: as many blocks as keep threads evenly occupied.
cat >even.mlir <<'END'
func.func @main(%a: tensor<128x2048xf32>, %b: tensor<2048x2048xf32>) -> tensor<128x2048xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
    : (tensor<128x2048xf32>, tensor<2048x2048xf32>) -> tensor<128x2048xf32>
  return %c : tensor<128x2048xf32>
}
END
exits 0 explain even.mlir --threads 2 --target-cpu sapphirerapids
says '16 tasks, speed-up 2.0 of 2'
# Of many columns a block has as many as fill a quarter of the L2 cache with a slab: 11 panels of 16.
sed 's/2048x2048xf32/8192x2048xf32/g; s/\(> \|c : \)tensor<128x2048/\1tensor<128x8192/' even.mlir >wide.mlir
exits 0 compile wide.mlir --emit kir --target-cpu x86-64-v3
usual says 'loop grid 47 {'

# Weights that are contiguous along the result, and packed in a block: while its tiles multiply, they prefetch what is packed
# next among them. Packing itself prefetches what is to come as well.
next_lines() { # SUM COLUMNS: prefetches of the weights
    cat >next.mlir <<END
func.func @main(%a: tensor<128x$1xf32>, %b: tensor<$1x$2xf32>) -> tensor<128x$2xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<128x$1xf32>, tensor<$1x$2xf32>) -> tensor<128x$2xf32>
  return %c : tensor<128x$2xf32>
}
END
    exits 0 compile next.mlir --emit kir --target-cpu x86-64-v3
    weights=$(grep -o "b[0-9]*: in f32\[$(($1 * $2))\]" out | cut -d: -f1)
    grep -c "prefetch $weights\[" out
}
[ "$(next_lines 768 3072)" = 2 ] && pass || usual fail 'the next block is not prefetched'
[ "$(next_lines 3072 768)" = 3 ] && pass || usual fail 'the next panel is not prefetched'

# One panel of columns, fewer than there are cores: its rows are divided among tasks, which share the packed panel.
cat >narrow.mlir <<'END'
func.func @main(%a: tensor<128x2048xf32>, %b: tensor<2048x16xf32>) -> tensor<128x16xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<128x2048xf32>, tensor<2048x16xf32>) -> tensor<128x16xf32>
  return %c : tensor<128x16xf32>
}
END
exits 0 explain narrow.mlir --threads 64 --target-cpu x86-64-v3
usual says 'tasks, speed-up 7.0 of 64'

# Results that the L2 cache does not hold: before a tile is multiplied, what its epilogue reads and where it stores is
# prefetched.
update() { # SIZE PROCESSOR: parameters of a square matrix less their gradient
    cat >update.mlir <<END
func.func @main(%x: tensor<128x$1xf32>, %g: tensor<128x$1xf32>, %w: tensor<$1x$1xf32>) -> tensor<$1x$1xf32> {
  %d = stablehlo.dot_general %g, %x, contracting_dims = [0] x [0]
    : (tensor<128x$1xf32>, tensor<128x$1xf32>) -> tensor<$1x$1xf32>
  %r = stablehlo.subtract %w, %d : tensor<$1x$1xf32>
  return %r : tensor<$1x$1xf32>
}
END
    exits 0 compile update.mlir --emit kir --target-cpu "$2"
    results=$(grep -o 'b[0-9]*: out' out | tail -1 | cut -d: -f1)
    grep -c "prefetch $results\[" out
}
for cpu in x86-64-v3 x86-64-v4; do
    [ "$(update 1024 $cpu)" = 1 ] && pass || fail "$cpu: results of 4 MB: not prefetched once"
    [ "$(update 256 $cpu)" = 0 ] && pass || usual fail "$cpu: results of 256 KB are prefetched"
done

# There a tile is multiplied by all panels in turn, which follow one another in memory: none is prefetched.
panels() { # the buffer of packed panels, the first one of the kernel that multiplies them
    update "$1" x86-64-v3 >/dev/null
    sed -n '/^kernel kernel1(/,/^}/p' out | grep -c 'prefetch b0\['
}
[ "$(panels 1024)" = 0 ] && pass || usual fail 'results of 4 MB are not computed tile by tile'
[ "$(panels 500)" = 1 ] && pass || usual fail 'results of 1 MB are not computed panel by panel'
for threads in 1 2 3; do
    update 1000 x86-64-v3 >/dev/null
    exits 0 run update.mlir --input random:3 --threads $threads --compare reference --tolerance 3e-6
done

# Rows that fill half of the L2 cache are one block, which packs its panels: no kernel packs before it.
cat >half.mlir <<END
func.func @main(%a: tensor<256x1000xf32>, %b: tensor<1024x1000xf32>) -> tensor<256x1024xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
    : (tensor<256x1000xf32>, tensor<1024x1000xf32>) -> tensor<256x1024xf32>
  return %c : tensor<256x1024xf32>
}
END
exits 0 compile half.mlir --emit plan --target-cpu x86-64-v3
[ "$(grep -c 'packs operands' out)" = 0 ] && pass || usual fail 'panels that are multiplied once are packed before'
exits 0 run half.mlir --input random:3 --compare reference --tolerance 3e-6

# Lines of the right operand a multiple of 4 KB apart are packed by all panels of a block, not panel by panel on first use;
# rows of the left one are packed some lines at once, the last ones fewer.
cat >columns.mlir <<END
func.func @main(%p: tensor<2x1022x1024xf32>, %v: tensor<2x1022x64xf32>)
    -> (tensor<2x1024x64xf32>, tensor<2x64x1024xf32>) {
  %0 = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : (tensor<2x1022x1024xf32>, tensor<2x1022x64xf32>) -> tensor<2x1024x64xf32>
  %1 = stablehlo.dot_general %v, %p, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : (tensor<2x1022x64xf32>, tensor<2x1022x1024xf32>) -> tensor<2x64x1024xf32>
  return %0, %1 : tensor<2x1024x64xf32>, tensor<2x64x1024xf32>
}
END
for threads in 1 2 3; do
    exits 0 run columns.mlir --input random:3 --threads $threads --compare reference --tolerance 3e-6
done
exits 0 run columns.mlir --input random:3 --target-cpu x86-64-v4 --backend interpreter --compare reference --tolerance 3e-6

# An operand of which neither rows nor lines of the sum are contiguous is packed once, not in each block.
cat >gathered.mlir <<END
func.func @main(%x: tensor<8x512x64xf32>, %y: tensor<512x2048xf32>) -> tensor<512x2048xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<8x512x64xf32>) -> tensor<8x64x512xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x64x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.dot_general %1, %y, contracting_dims = [1] x [0]
    : (tensor<512x512xf32>, tensor<512x2048xf32>) -> tensor<512x2048xf32>
  return %2 : tensor<512x2048xf32>
}
END
exits 0 compile gathered.mlir --emit plan --target-cpu x86-64-v3
[ "$(grep -c 'packs operands' out)" = 2 ] && pass || fail 'an operand is gathered in each block'
exits 0 run gathered.mlir --input random:3 --compare reference --tolerance 3e-6

# Integers that are multiplied in f64: as words, in slabs whose sums fit 32 bits, which products of words of 16 bits do not.
integers() { # TYPE OF COLUMNS
    cat >integers.mlir <<END
func.func @main(%x: tensor<64x1024xi16>, %w: tensor<64x1024x$1>) -> tensor<64x64xf64> {
  %0 = stablehlo.convert %x : (tensor<64x1024xi16>) -> tensor<64x1024xf64>
  %1 = stablehlo.convert %w : (tensor<64x1024x$1>) -> tensor<64x1024xf64>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1]
    : (tensor<64x1024xf64>, tensor<64x1024xf64>) -> tensor<64x64xf64>
  return %2 : tensor<64x64xf64>
}
END
    exits 0 compile integers.mlir --emit kir --target-cpu x86-64-v3
    grep -c 'dot2' out
}
[ "$(integers i8)" = 1 ] && pass || fail "integers of 16 and 8 bits are not multiplied as words"
[ "$(integers i16)" = 0 ] && pass || fail "integers of 16 bits are added in 32 bits"

# Few rows by a matrix that is contiguous along the result, in a batch: lines that a tile reads a part of are prefetched, 48 of
# them ahead, unless they fit the L1 cache, or lie in one cache line.
lines() { # LINES COLUMNS: prefetches of the kernel
    cat >lines.mlir <<END
func.func @main(%p: tensor<8x4x$1xf32>, %v: tensor<8x$1x$2xbf16>) -> tensor<8x4x$2xf32> {
  %0 = stablehlo.convert %v : (tensor<8x$1x$2xbf16>) -> tensor<8x$1x$2xf32>
  %1 = stablehlo.dot_general %p, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<8x4x$1xf32>, tensor<8x$1x$2xf32>) -> tensor<8x4x$2xf32>
  return %1 : tensor<8x4x$2xf32>
}
END
    exits 0 compile lines.mlir --emit kir --target-cpu x86-64-v3
    grep -c prefetch out
}
[ "$(lines 256 64)" = 1 ] && grep -B 1 prefetch out | grep -q ', 3072$' && pass || usual fail "lines: not prefetched 48 ahead"
[ "$(lines 12 64)" = 0 ] && pass || usual fail "lines in the L1 cache are prefetched"
[ "$(lines 512 16)" = 0 ] && pass || usual fail "parts of a cache line are prefetched"
finish
