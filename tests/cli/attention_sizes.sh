#!/bin/sh
# Attention of one token to a cache, compiled with --batch-invariant: its bits do not depend on how much room the cache has, so
# that caches of texts that are read together may grow to a common size.
. "$(dirname "$0")/common.inc"

needs_code_generator

# attention HEADS ROWS DIM ENTRIES SIZE TYPE STORED: ROWS queries of each of HEADS to ENTRIES entries, which are the first of
# SIZE; products of TYPE, a cache of type STORED.
attention() {
    q=1x$1x$2x$3 k=1x$1x$5x$3 s=1x$1x$2x$5 r=1x$1x$2
    cat <<END2
func.func @main(%q0: tensor<${q}xf32>, %k0: tensor<1x$1x$4x$3xf32>, %v0: tensor<1x$1x$4x$3xf32>) -> tensor<${q}xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<${r}xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %k1 = stablehlo.pad %k0, %zero, low = [0, 0, 0, 0], high = [0, 0, $(($5 - $4)), 0], interior = [0, 0, 0, 0]
    : (tensor<1x$1x$4x$3xf32>, tensor<f32>) -> tensor<${k}xf32>
  %v1 = stablehlo.pad %v0, %zero, low = [0, 0, 0, 0], high = [0, 0, $(($5 - $4)), 0], interior = [0, 0, 0, 0]
    : (tensor<1x$1x$4x$3xf32>, tensor<f32>) -> tensor<${k}xf32>
  %k2 = stablehlo.convert %k1 : (tensor<${k}xf32>) -> tensor<${k}x$7>
  %v2 = stablehlo.convert %v1 : (tensor<${k}xf32>) -> tensor<${k}x$7>
  %k3, %v3 = stablehlo.optimization_barrier %k2, %v2 : tensor<${k}x$7>, tensor<${k}x$7>
  %k = stablehlo.convert %k3 : (tensor<${k}x$7>) -> tensor<${k}x$6>
  %v = stablehlo.convert %v3 : (tensor<${k}x$7>) -> tensor<${k}x$6>
  %q = stablehlo.convert %q0 : (tensor<${q}xf32>) -> tensor<${q}x$6>
  %s0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
    : (tensor<${q}x$6>, tensor<${k}x$6>) -> tensor<${s}xf32>
  %at = stablehlo.iota dim = 3 : tensor<${s}xi32>
  %end = stablehlo.constant dense<$4> : tensor<${s}xi32>
  %seen = stablehlo.compare LT, %at, %end : (tensor<${s}xi32>, tensor<${s}xi32>) -> tensor<${s}xi1>
  %unseen = stablehlo.constant dense<-1.0e30> : tensor<${s}xf32>
  %s1 = stablehlo.select %seen, %s0, %unseen : tensor<${s}xi1>, tensor<${s}xf32>
  %m0 = stablehlo.reduce(%s1 init: %least) applies stablehlo.maximum across dimensions = [3]
    : (tensor<${s}xf32>, tensor<f32>) -> tensor<${r}xf32>
  %m = stablehlo.broadcast_in_dim %m0, dims = [0, 1, 2] : (tensor<${r}xf32>) -> tensor<${s}xf32>
  %d = stablehlo.subtract %s1, %m : tensor<${s}xf32>
  %e = stablehlo.exponential %d : tensor<${s}xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3]
    : (tensor<${s}xf32>, tensor<f32>) -> tensor<${r}xf32>
  %share = stablehlo.divide %one, %sum : tensor<${r}xf32>
  %f = stablehlo.broadcast_in_dim %share, dims = [0, 1, 2] : (tensor<${r}xf32>) -> tensor<${s}xf32>
  %p0 = stablehlo.multiply %e, %f : tensor<${s}xf32>
  %p = stablehlo.convert %p0 : (tensor<${s}xf32>) -> tensor<${s}x$6>
  %y = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
    : (tensor<${s}x$6>, tensor<${k}x$6>) -> tensor<${q}xf32>
  return %y : tensor<${q}xf32>
}
END2
}

# sizes HEADS ROWS DIM TYPE STORED ENTRIES SIZE...
sizes() {
    what="$*" heads=$1 rows=$2 dim=$3 type=$4 stored=$5 entries=$6 first=''
    shift 6
    for size; do
        attention $heads $rows $dim $entries $size $type $stored >cache.mlir
        exits 0 run cache.mlir --batch-invariant --input random:3 -o $size.npy
        if [ "$first" ]; then
            cmp -s $first.npy $size.npy && pass || fail "$what: other bits with room for $size than with room for $first"
        else
            first=$size
        fi
    done
}

for rows in 1 2 4 7; do
    for head in '1 16' '1 64' '2 16' '4 32'; do
        sizes ${head% *} $rows ${head#* } f32 f32 200 256 512 1024 4096
        sizes ${head% *} $rows ${head#* } bf16 f8E4M3FN 250 256 512 2048
    done
done
sizes 2 1 16 f32 f32 256 256 1024
sizes 1 32 64 f32 f32 4000 4096 8192
sizes 1 2 16 f32 f32 30000 32768 65536 131072
sizes 2 4 16 bf16 bf16 30000 32768 65536

finish
