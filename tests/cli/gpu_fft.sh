#!/bin/sh
# --device gpu --backend library: Fourier transforms by a stand-in for cuFFT, on that for the driver.
. "$(dirname "$0")/gpu.inc"
export HILO_CUFFT_PATH="$tests" HILO_CUBLASLT_PATH="$tests" HILO_FAKE_CUFFT_REPORT="$dir/cufft"

# fft TYPE LENGTHS IN OUT: a transform between kernels
fft() {
    cat <<EOP
func.func @main(%x: tensor<$3>) -> tensor<$4> {
  %0 = stablehlo.add %x, %x : tensor<$3>
  %1 = stablehlo.fft %0, type = $1, length = [$2] : (tensor<$3>) -> tensor<$4>
  %2 = stablehlo.multiply %1, %1 : tensor<$4>
  return %2 : tensor<$4>
}
EOP
}

# by COUNTS: hilo run of p.mlir equals the evaluator, with so many transforms
by() {
    rm -f report cufft
    exits 0 run p.mlir --no-cache --input random:1 --device gpu --backend library --compare reference
    if grep -qxF "transforms $1" cufft; then pass; else fail "transforms $1 expected: $(cat cufft)"; fi
    if grep -q ' leaks 0 ' report; then pass; else fail "leaks: $(cat report)"; fi
}

# ---- types, ranks, batches, sizes that are odd or prime
while read -r counts type lengths in out; do
    fft "$type" "$(echo "$lengths" | sed 's/,/, /g')" "$in" "$out" >p.mlir
    by "$(echo "$counts" | tr _ ' ')"
done <<'EOP'
1_inverse_0_real_0_plans_2 FFT 16 3x16xcomplex<f32> 3x16xcomplex<f32>
1_inverse_1_real_0_plans_2 IFFT 17 2x3x17xcomplex<f32> 2x3x17xcomplex<f32>
1_inverse_0_real_1_plans_2 RFFT 18 5x18xf32 5x10xcomplex<f32>
1_inverse_1_real_1_plans_2 IRFFT 18 5x10xcomplex<f32> 5x18xf32
1_inverse_0_real_1_plans_2 RFFT 15 4x15xf64 4x8xcomplex<f64>
1_inverse_1_real_1_plans_2 IRFFT 15 4x8xcomplex<f64> 4x15xf64
1_inverse_0_real_0_plans_2 FFT 4,6 3x4x6xcomplex<f64> 3x4x6xcomplex<f64>
1_inverse_1_real_0_plans_2 IFFT 4,6,5 2x4x6x5xcomplex<f64> 2x4x6x5xcomplex<f64>
1_inverse_0_real_1_plans_2 RFFT 3,4,6 2x3x4x6xf32 2x3x4x4xcomplex<f32>
EOP
cat >p.mlir <<'EOP'
func.func @main(%x: tensor<3x4x6xf32>, %n: tensor<i32>) -> (tensor<3x4x6xf32>, tensor<3x4x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<3x4x6xf32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3x4x6xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %f = stablehlo.fft %y, type = RFFT, length = [4, 6] : (tensor<3x4x6xf32>) -> tensor<3x4x4xcomplex<f32>>
    %b = stablehlo.fft %f, type = IRFFT, length = [4, 6] : (tensor<3x4x4xcomplex<f32>>) -> tensor<3x4x6xf32>
    %h = stablehlo.multiply %b, %half : tensor<3x4x6xf32>
    stablehlo.return %j, %h : tensor<i32>, tensor<3x4x6xf32>
  }
  %again = stablehlo.add %r#1, %x : tensor<3x4x6xf32>
  return %r#1, %again : tensor<3x4x6xf32>, tensor<3x4x6xf32>
}
EOP
rm -f report cufft
exits 0 run p.mlir --no-cache --input random:1 --input i32=3 --device gpu --backend library --compare reference
if grep -qxF 'transforms 6 inverse 3 real 6 plans 4' cufft; then pass; else fail "in a loop: $(cat cufft)"; fi
exits 0 compile p.mlir --device gpu --backend library --emit plan
says 'routine cufft.fft'
exits 0 run p.mlir -O0 --no-cache --input random:1 --input i32=3 --device gpu --backend library
fft FFT 16 3x16xcomplex\<f32\> 3x16xcomplex\<f32\> >one.mlir

# ---- transfers: none for the transform; two where the host computes it
exits 0 explain one.mlir --device gpu --backend library
says 'cufft.fft' '0 transfers'
exits 0 explain one.mlir --device gpu
says '2 transfers'

# ---- without it: the host's, and of a file that names it, with transfers of its own
exits 0 run one.mlir --no-cache --input random:1 --device gpu --backend library
cp out want
exits 0 compile one.mlir --device gpu --backend library -o one.hilo
exits 0 run one.hilo --device gpu --input random:1
same want 'a file'
exits 0 explain one.hilo --device gpu
says 'cufft.fft'
with=$HILO_CUFFT_PATH
export HILO_CUFFT_PATH= HILO_FFTW_PATH=
exits 0 run one.hilo --device gpu --input random:1
cp out other
exits 0 run one.mlir --no-cache --input random:1 --device gpu --backend library
says "no cuFFT (NVIDIA's CUDA toolkit): HILO_CUFFT_PATH is empty"
same other 'a file without the library'
export HILO_CUFFT_PATH="$with"

# ---- each of its calls fails once: the host computes, or a status that names the call; no crash, no leak
fft IRFFT 18 5x10xcomplex\<f32\> 5x18xf32 >inverse.mlir
library_calls_fail cufft HILO_FAKE_CUFFT_FAIL 9 3 'cufft[A-Z][a-zA-Z0-9]*: CUFFT_[A-Z_]* (' \
    'transforms 1 inverse 1 real 1 plans 2' inverse.mlir --input random:1

# ---- and each of the driver's in such a run
driver_calls_fail 30 inverse.mlir --input random:1 --backend library

finish
