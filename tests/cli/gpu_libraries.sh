#!/bin/sh
# --device gpu --backend library: products by a stand-in for cuBLASLt, on that for the driver.
. "$(dirname "$0")/gpu.inc"
export HILO_CUBLASLT_PATH="$tests" HILO_FAKE_CUBLASLT_REPORT="$dir/cublaslt"

cat >products.mlir <<'EOP'
func.func @main(%a: tensor<3x40x24xf32>, %b: tensor<3x24x48xf32>, %c: tensor<48x40xf32>, %d: tensor<40x48xf32>,
                %e: tensor<40x48xbf16>, %f: tensor<48x64xbf16>, %g: tensor<40x48xf16>, %h: tensor<48x64xf16>,
                %i: tensor<40x48xf64>, %j: tensor<48x64xf64>, %k: tensor<40x48xi8>, %l: tensor<64x48xi8>, %m: tensor<48x64xi8>)
    -> (tensor<3x40x48xf32>, tensor<40x40xf32>, tensor<48x48xf32>, tensor<40x40xf32>, tensor<40x64xbf16>, tensor<40x64xf32>,
        tensor<40x64xf16>, tensor<40x64xf64>, tensor<40x64xi32>, tensor<40x64xi32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<3x40x24xf32>, tensor<3x24x48xf32>) -> tensor<3x40x48xf32>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [0] x [1] : (tensor<48x40xf32>, tensor<40x48xf32>) -> tensor<40x40xf32>
  %2 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<48x40xf32>, tensor<40x48xf32>) -> tensor<48x48xf32>
  %3 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [1] : (tensor<40x48xf32>, tensor<40x48xf32>) -> tensor<40x40xf32>
  %4 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0]
    : (tensor<40x48xbf16>, tensor<48x64xbf16>) -> tensor<40x64xbf16>
  %5 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0]
    : (tensor<40x48xbf16>, tensor<48x64xbf16>) -> tensor<40x64xf32>
  %6 = stablehlo.dot_general %g, %h, contracting_dims = [1] x [0] : (tensor<40x48xf16>, tensor<48x64xf16>) -> tensor<40x64xf16>
  %7 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<40x48xf64>, tensor<48x64xf64>) -> tensor<40x64xf64>
  %8 = stablehlo.dot_general %k, %l, contracting_dims = [1] x [1] : (tensor<40x48xi8>, tensor<64x48xi8>) -> tensor<40x64xi32>
  %9 = stablehlo.dot_general %k, %m, contracting_dims = [1] x [0] : (tensor<40x48xi8>, tensor<48x64xi8>) -> tensor<40x64xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<3x40x48xf32>, tensor<40x40xf32>, tensor<48x48xf32>, tensor<40x40xf32>,
    tensor<40x64xbf16>, tensor<40x64xf32>, tensor<40x64xf16>, tensor<40x64xf64>, tensor<40x64xi32>, tensor<40x64xi32>
}
EOP
# A bias on either side. A bias of the rows or of bf16 stays with the kernel, as does a maximum with zero, whose NaN are NaN.
cat >epilogues.mlir <<'EOP'
func.func @main(%x: tensor<40x24xf32>, %w: tensor<24x48xf32>, %v: tensor<24x48xf32>, %u: tensor<24x48xf32>,
                %t: tensor<24x48xf32>, %b: tensor<48xf32>, %r: tensor<40xf32>, %e: tensor<40x24xbf16>, %f: tensor<24x48xbf16>)
    -> (tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xbf16>, tensor<40x48xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<40x48xf32>
  %small = stablehlo.constant dense<0.0> : tensor<40x48xbf16>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<40x48xf32>
  %rows = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<40xf32>) -> tensor<40x48xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %1 = stablehlo.add %0, %bias : tensor<40x48xf32>
  %2 = stablehlo.maximum %1, %zero : tensor<40x48xf32>
  %3 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %4 = stablehlo.add %bias, %3 : tensor<40x48xf32>
  %5 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %6 = stablehlo.maximum %zero, %5 : tensor<40x48xf32>
  %7 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0]
    : (tensor<40x24xbf16>, tensor<24x48xbf16>) -> tensor<40x48xbf16>
  %8 = stablehlo.maximum %7, %small : tensor<40x48xbf16>
  %9 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %10 = stablehlo.add %9, %rows : tensor<40x48xf32>
  return %2, %4, %6, %8, %10 : tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xbf16>, tensor<40x48xf32>
}
EOP
# The body of a loop: calls of a library between kernels, which are a graph.
cat >loop.mlir <<'EOP'
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %y = %x, %z = %w) : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m = stablehlo.tanh %t : tensor<64x64xf32>
    %p = stablehlo.transpose %m, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = stablehlo.add %p, %z : tensor<64x64xf32>
    %u = stablehlo.dot_general %s, %m, contracting_dims = [0] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    stablehlo.return %j, %s, %u : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %r#1, %r#2 : tensor<64x64xf32>, tensor<64x64xf32>
}
EOP
# Four products of the same sizes, of which two are computed alike: one with a bias, one of a transposed operand besides.
cat >equal.mlir <<'EOP'
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %bias = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.add %1, %bias : tensor<64x64xf32>
  %3 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %2, %3, %4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
EOP

# What is added before the bias, or alone, of f32 and of bf16 with sums in f32; a bias before it is the kernel's.
cat >added.mlir <<'EOP'
func.func @main(%x: tensor<40x24xf32>, %w: tensor<24x48xf32>, %b: tensor<48xf32>, %r: tensor<40x48xf32>,
                %e: tensor<40x24xbf16>, %f: tensor<24x48xbf16>, %s: tensor<40x48xbf16>)
    -> (tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xbf16>) {
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<40x48xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %1 = stablehlo.add %r, %0 : tensor<40x48xf32>
  %2 = stablehlo.add %x, %x : tensor<40x24xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %4 = stablehlo.add %3, %r : tensor<40x48xf32>
  %5 = stablehlo.add %bias, %4 : tensor<40x48xf32>
  %6 = stablehlo.negate %w : tensor<24x48xf32>
  %7 = stablehlo.dot_general %2, %6, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %8 = stablehlo.add %7, %bias : tensor<40x48xf32>
  %9 = stablehlo.add %8, %r : tensor<40x48xf32>
  %10 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0]
    : (tensor<40x24xbf16>, tensor<24x48xbf16>) -> tensor<40x48xf32>
  %11 = stablehlo.add %10, %r : tensor<40x48xf32>
  %12 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0]
    : (tensor<40x24xbf16>, tensor<24x48xbf16>) -> tensor<40x48xbf16>
  %13 = stablehlo.add %12, %s : tensor<40x48xbf16>
  return %1, %5, %9, %11, %13 : tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xf32>, tensor<40x48xbf16>
}
EOP

# by PROGRAM COUNTS LAUNCHES: equal to the evaluator, by so many calls of the library, and launches of kernels
by() {
    rm -f report cublaslt
    exits 0 run "$1" --no-cache --input random:1 --device gpu --backend library --compare reference
    sort -r cublaslt >reported # that of the comparison has no product
    mv reported cublaslt
    if grep -qxF "$2" cublaslt; then pass; else fail "$1: $2 expected: $(cat cublaslt)"; fi
    if grep -q " leaks 0 launches $3 " report; then pass; else fail "$1: $3 launches expected: $(cat report)"; fi
}
by products.mlir 'products 9 bias 0 added 0 transposed 3 batched 1 handles 1 algorithms 9' 1 # the last one stays a kernel
by epilogues.mlir 'products 1 bias 1 added 0 transposed 0 batched 0 handles 1 algorithms 1' 4
by loop.mlir 'products 5 bias 0 added 0 transposed 5 batched 0 handles 1 algorithms 1' 2
if [ "$(report graphs)" = 4 ]; then pass; else fail "graphs: $(cat report)"; fi
by equal.mlir 'products 4 bias 1 added 0 transposed 1 batched 0 handles 1 algorithms 3' 0 # the first and the last are one
by added.mlir 'products 3 bias 1 added 3 transposed 0 batched 0 handles 1 algorithms 3' 4
exits 0 explain epilogues.mlir --device gpu --backend library
says 'kernel cuBLASLt' 'matmul + activation' "not cuBLASLt's: what is computed from it"
exits 0 compile products.mlir --device gpu --backend library --emit plan
says 'kernel kernel0 in b0, b1 out b13' 'by cuBLASLt'

# ---- the same bits each time, and in a file kernels alone
exits 0 run products.mlir --no-cache --input random:1 --device gpu --backend library
cp out want
exits 0 run products.mlir --no-cache --input random:1 --device gpu --backend library --threads 1
same want 'products by a library'
exits 0 compile products.mlir --device gpu --backend library -o products.hilo
rm -f cublaslt
exits 0 run products.hilo --input random:1 --device gpu
[ ! -e cublaslt ] || fail 'a file asks for a library'
exits 0 run products.mlir --no-cache --input random:1 --device gpu
rm -f cublaslt
exits 0 run products.mlir -O0 --no-cache --input random:1 --device gpu --backend library
[ ! -e cublaslt ] || fail 'a library at level 0'

# ---- without it
HILO_CUBLASLT_PATH= exits 0 run loop.mlir --no-cache --input random:1 --device gpu --backend library
says 'no cuBLASLt' 'HILO_CUBLASLT_PATH is empty'
# The true one, where it is, finds no true driver; where there is one, it would be given streams of the stand-in.
if [ -e /dev/nvidiactl ]; then
    echo 'skipped: the true cuBLASLt without a GPU: there is one'
else
    (
        unset HILO_CUBLASLT_PATH
        "$HILO" run loop.mlir --no-cache --input random:1 --device gpu --backend library >true 2>err
    )
    exits 0 run loop.mlir --no-cache --input random:1 --device gpu
    same true 'the true cuBLASLt without a GPU'
fi

# ---- each of its calls fails once: kernels, or a status that names the call; no crash, no leak
cat >one.mlir <<'EOP'
func.func @main(%x: tensor<40x24xf32>, %w: tensor<24x48xf32>, %b: tensor<48xf32>) -> tensor<40x48xf32> {
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<40x48xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24x48xf32>) -> tensor<40x48xf32>
  %1 = stablehlo.add %0, %bias : tensor<40x48xf32>
  return %1 : tensor<40x48xf32>
}
EOP
library_calls_fail cublaslt HILO_FAKE_CUBLASLT_FAIL 18 2 'cublasLtMatmul[a-zA-Z]*: CUBLAS_STATUS' \
    'products 1 bias 1 added 0 transposed 0 batched 0 handles 1 algorithms 1' one.mlir --input random:1

finish
