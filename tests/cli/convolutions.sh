#!/bin/sh
# Register tiles of convolutions (src/lower/direct.c), by what a processor has: the registers that kernels for it declare; and
# how many products convolutions by Winograd's method take (src/lower/winograd.c). They compute what the evaluator does.
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
    if [ "$found" = "$* " ]; then pass; else usual fail "$cpu: tiles of $found, expected $*"; fi
    exits 0 run convolution.mlir --input random:3 --backend interpreter --target-cpu "$cpu" --compare reference --tolerance 3e-6
}

convolution 7 64 48 3 1 # rows of seven pixels: four and three, by three vectors
tiles x86-64-v3 9 12
convolution 7 64 160 3 1 # the last panel has two of three vectors
tiles x86-64-v3 9 12
convolution 13 1024 64 1 2 # pixels that are 8 KB apart: fewer than the ways of the L1 cache
tiles x86-64-v3 9 12
tiles x86-64-v4 7 14

# Half of the 9·32·32·16·16 products of the definition, also where the input has its channels first, and is copied before.
few_products() {
    cat >winograd.mlir <<END
func.func @main(%x: tensor<$1xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<$1xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [$2]x[o, i, 0, 1]->[$2], window = {stride = [1, 1],
      pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<$1xf32>, tensor<32x32x3x3xf32>) -> tensor<$1xf32>
  return %0 : tensor<$1xf32>
}
END
    exits 0 explain winograd.mlir --run --backend interpreter --target-cpu x86-64-v3 --input random:3
    products=$(sed -n 's/^  kernel.*fma \([0-9]*\),.*/\1/p' out)
    [ "$products" -lt 1200000 ] && pass || fail "[$2]: $products products of 2359296"
    exits 0 run winograd.mlir --input random:3 --backend interpreter --target-cpu x86-64-v3 --compare reference --tolerance 3e-6
}
few_products 1x16x16x32 'b, 0, 1, f'
few_products 1x32x16x16 'b, f, 0, 1'

finish
