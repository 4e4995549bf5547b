#!/bin/sh
# Register tiles of convolutions (src/lower/direct.c), by what a processor has: the registers that kernels for it declare. They
# compute what the evaluator does.
. "$(dirname "$0")/common.inc"

needs_code_generator

# convolution IMAGE CHANNELS FEATURES WINDOW STRIDE: of an image with padding around it.
convolution() {
    size=$((($1 - 1) / $5 + 1)) low=$(($4 / 2))
    high=$((($1 - 1) / $5 * $5 + $4 - low - $1))
    image="tensor<1x$1x$1x$2xf32>" weights="tensor<$4x$4x$2x$3xf32>" result="tensor<1x${size}x${size}x$3xf32>"
    cat >convolution.mlir <<END
func.func @main(%x: $image, %w: $weights) -> $result {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [$5, $5], pad = [[$low, $high], [$low, $high]]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}
      : ($image, $weights) -> $result
  return %0 : $result
}
END
}

# tiles CPU N…: the tiles of pixels by vectors of the last convolution have so many sums.
tiles() {
    cpu=$1
    shift
    exits 0 compile convolution.mlir --emit kir --target-cpu "$cpu"
    found=$(sed -n 's/.* = reg \([0-9]*\),.*/\1/p' out | sort -n | uniq | tr '\n' ' ')
    if [ "$found" = "$* " ]; then pass; else fail "$cpu: tiles of $found, expected $*"; fi
    exits 0 run convolution.mlir --input random:3 --backend interpreter --target-cpu "$cpu" --compare reference --tolerance 3e-6
}

convolution 7 64 48 3 1 # rows of seven pixels: four and three, by three vectors
tiles x86-64-v3 9 12
convolution 7 64 160 3 1 # the last panel has two of three vectors
tiles x86-64-v3 9 12
convolution 13 1024 64 1 2 # pixels that are 8 KB apart: fewer than the ways of the L1 cache
tiles x86-64-v3 9 12
tiles x86-64-v4 7 14

finish
