#!/bin/sh
# --device gpu --backend library: Cholesky factors and triangular solves by stand-ins for cuSOLVER and cuBLAS, on that for the
# driver.
. "$(dirname "$0")/gpu.inc"
export HILO_CUFFT_PATH="$tests" HILO_CUBLASLT_PATH="$tests" HILO_CUSOLVER_PATH="$tests" HILO_CUBLAS_PATH="$tests"
export HILO_FAKE_CUSOLVER_REPORT="$dir/cusolver" HILO_FAKE_CUBLAS_REPORT="$dir/cublas"

# cholesky LOWER BATCH N TYPE: a factor between kernels, of x as random numbers beside a diagonal that is larger than their sum
cholesky() {
    case $4 in complex*) big="($3.0, 0.0)" ;; *) big=$3.0 ;; esac
    cat <<EOP
func.func @main(%x: tensor<$2x$3x$3x$4>) -> tensor<$2x$3x$3x$4> {
  %i = stablehlo.iota dim = 1 : tensor<$2x$3x$3xi32>
  %j = stablehlo.iota dim = 2 : tensor<$2x$3x$3xi32>
  %d = stablehlo.compare EQ, %i, %j : (tensor<$2x$3x$3xi32>, tensor<$2x$3x$3xi32>) -> tensor<$2x$3x$3xi1>
  %big = stablehlo.constant dense<$big> : tensor<$2x$3x$3x$4>
  %0 = stablehlo.select %d, %big, %x : tensor<$2x$3x$3xi1>, tensor<$2x$3x$3x$4>
  %1 = stablehlo.cholesky %0, lower = $1 : tensor<$2x$3x$3x$4>
  %2 = stablehlo.add %1, %1 : tensor<$2x$3x$3x$4>
  return %2 : tensor<$2x$3x$3x$4>
}
EOP
}

# solve LEFT LOWER UNIT HOW N ROWS COLUMNS TYPE: a solve between kernels, of a matrix whose diagonal is large
solve() {
    case $8 in complex*) big="($5.0, 1.0)" ;; *) big=$5.0 ;; esac
    cat <<EOP
func.func @main(%x: tensor<2x$5x$5x$8>, %y: tensor<2x$6x$7x$8>) -> tensor<2x$6x$7x$8> {
  %i = stablehlo.iota dim = 1 : tensor<2x$5x$5xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x$5x$5xi32>
  %d = stablehlo.compare EQ, %i, %j : (tensor<2x$5x$5xi32>, tensor<2x$5x$5xi32>) -> tensor<2x$5x$5xi1>
  %big = stablehlo.constant dense<$big> : tensor<2x$5x$5x$8>
  %0 = stablehlo.select %d, %big, %x : tensor<2x$5x$5xi1>, tensor<2x$5x$5x$8>
  %b = stablehlo.negate %y : tensor<2x$6x$7x$8>
  %1 = "stablehlo.triangular_solve"(%0, %b) {left_side = $1, lower = $2, unit_diagonal = $3,
    transpose_a = #stablehlo<transpose $4>} : (tensor<2x$5x$5x$8>, tensor<2x$6x$7x$8>) -> tensor<2x$6x$7x$8>
  %2 = stablehlo.add %1, %y : tensor<2x$6x$7x$8>
  return %2 : tensor<2x$6x$7x$8>
}
EOP
}

# by LIBRARY COUNTS INPUT...: hilo run of p.mlir equals the evaluator, with so many calls
by() {
    library=$1 counts=$2
    shift 2
    rm -f report cusolver cublas
    exits 0 run p.mlir --no-cache "$@" --device gpu --backend library --compare reference
    if grep -qxF "$counts" "$library"; then pass; else fail "$counts expected: $(cat "$library")"; fi
    if grep -q ' leaks 0 ' report; then pass; else fail "leaks: $(cat report)"; fi
}

# ---- types, triangles, batches, sizes
while read -r lower batch n type; do
    cholesky "$lower" "$batch" "$n" "$type" >p.mlir
    by cusolver "factors $batch lu 0 qr 0 reflectors 0 eigenvalues 0 singular values 0 handles 1" --input random:1
done <<'EOP'
true 1 3 f32
true 2 17 f32
false 3 16 f32
true 2 33 f64
false 1 20 f64
true 2 9 complex<f32>
false 2 12 complex<f32>
true 1 15 complex<f64>
false 2 8 complex<f64>
EOP
while read -r left lower unit how n rows columns type; do
    solve "$left" "$lower" "$unit" "$how" "$n" "$rows" "$columns" "$type" >p.mlir
    by cublas 'solves 2 handles 1' --input random:1 --input random:2
done <<'EOP'
true true false NO_TRANSPOSE 17 17 5 f32
true false false NO_TRANSPOSE 17 17 5 f32
false true false NO_TRANSPOSE 16 7 16 f32
false false true NO_TRANSPOSE 16 7 16 f32
true true true TRANSPOSE 9 9 1 f64
false false false TRANSPOSE 9 3 9 f64
true true false ADJOINT 8 8 6 complex<f32>
false true false ADJOINT 8 6 8 complex<f64>
true false true TRANSPOSE 8 8 6 complex<f64>
EOP

# ---- a matrix that is not positive definite: a factor of NaN, zeros beside it; the other matrices of the batch are right
cat >p.mlir <<'EOP'
func.func @main(%x: tensor<2x2x2xf32>) -> tensor<2x2x2xf32> {
  %c = stablehlo.constant dense<[[[4.0, 6.0], [6.0, 5.0]], [[4.0, 2.0], [2.0, 5.0]]]> : tensor<2x2x2xf32>
  %0 = stablehlo.add %x, %c : tensor<2x2x2xf32>
  %1 = stablehlo.cholesky %0, lower = true : tensor<2x2x2xf32>
  return %1 : tensor<2x2x2xf32>
}
EOP
exits 0 run p.mlir --no-cache --input 2x2x2xf32=0 --device gpu --backend library
says '[[[nan, 0.0],' '[nan, nan]],' '[[2.0, 0.0],' '[1.0, 2.0]]]'

# ---- together: one handle of each library for all steps, no transfers; without the libraries the host's
cat >both.mlir <<'EOP'
func.func @main(%x: tensor<24x24xf32>, %y: tensor<24x5xf32>) -> (tensor<24x5xf32>, tensor<24x24xf32>) {
  %one = stablehlo.constant dense<24.0> : tensor<24x24xf32>
  %i = stablehlo.iota dim = 0 : tensor<24x24xi32>
  %j = stablehlo.iota dim = 1 : tensor<24x24xi32>
  %d = stablehlo.compare EQ, %i, %j : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
  %0 = stablehlo.select %d, %one, %x : tensor<24x24xi1>, tensor<24x24xf32>
  %l = stablehlo.cholesky %0, lower = true : tensor<24x24xf32>
  %1 = "stablehlo.triangular_solve"(%l, %y) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<24x24xf32>, tensor<24x5xf32>) -> tensor<24x5xf32>
  %2 = "stablehlo.triangular_solve"(%l, %1) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<24x24xf32>, tensor<24x5xf32>) -> tensor<24x5xf32>
  %u = stablehlo.cholesky %0, lower = false : tensor<24x24xf32>
  return %2, %u : tensor<24x5xf32>, tensor<24x24xf32>
}
EOP
cp both.mlir p.mlir
by cusolver 'factors 2 lu 0 qr 0 reflectors 0 eigenvalues 0 singular values 0 handles 1' --input random:1 --input random:2
by cublas 'solves 2 handles 1' --input random:1 --input random:2
exits 0 explain both.mlir --device gpu --backend library
says 'cusolver.cholesky' 'cublas.triangular_solve' '0 transfers'
exits 0 run both.mlir --no-cache --input random:1 --input random:2 --device gpu --backend library
cp out want
exits 0 compile both.mlir --device gpu --backend library -o both.hilo
exits 0 run both.hilo --device gpu --input random:1 --input random:2
same want 'a file'
(
    export HILO_CUSOLVER_PATH= HILO_CUBLAS_PATH= HILO_OPENBLAS_PATH=
    "$HILO" run both.mlir --no-cache --input random:1 --input random:2 --device gpu --backend library >own 2>said
    "$HILO" run both.hilo --device gpu --input random:1 --input random:2 >file 2>>said
)
if cmp -s own file; then pass; else fail 'a file without the libraries'; fi
for library in cuSOLVER cuBLAS; do
    if grep -q "no $library (NVIDIA's CUDA toolkit)" said; then pass; else fail "no warning about $library: $(cat said)"; fi
done

# ---- each call of the libraries fails once: the host computes, or a status that names the call; no crash, no leak
library_calls_fail cusolver HILO_FAKE_CUSOLVER_FAIL 9 2 'cusolverDn[A-Za-z_]*: CUSOLVER_STATUS_[A-Z_]* (' \
    'factors 2 lu 0 qr 0 reflectors 0 eigenvalues 0 singular values 0 handles 1' both.mlir --input random:1 --input random:2
library_calls_fail cublas HILO_FAKE_CUBLAS_FAIL 4 2 'cublas[A-Za-z]*: CUBLAS_STATUS_[A-Z_]*' 'solves 2 handles 1' \
    both.mlir --input random:1 --input random:2

# ---- and each of the driver's in such a run
driver_calls_fail 30 both.mlir --input random:1 --input random:2 --backend library

finish
