#!/bin/sh
# hilo calibrate --device gpu, and what --backend auto makes of it, on the stand-ins for the driver and the libraries.
. "$(dirname "$0")/gpu.inc"
export HILO_CUFFT_PATH="$tests" HILO_CUBLASLT_PATH="$tests" HILO_CUDNN_PATH="$tests"
export HILO_CUSOLVER_PATH="$tests" HILO_CUBLAS_PATH="$tests"
export HILO_ONEDNN_PATH= HILO_OPENBLAS_PATH= HILO_FFTW_PATH= HILO_CACHE_DIR="$dir/cache"

cat >p.mlir <<'EOP'
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xcomplex<f32>>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %a, %a : tensor<64x64xf32>
  %2 = stablehlo.complex %1, %1 : tensor<64x64xcomplex<f32>>
  %3 = stablehlo.fft %2, type = FFT, length = [64] : (tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>>
  %4 = stablehlo.multiply %3, %3 : tensor<64x64xcomplex<f32>>
  return %0, %4 : tensor<64x64xf32>, tensor<64x64xcomplex<f32>>
}
EOP

# ---- nothing was measured: hilo's own code
exits 1 calibrate --device gpu --show
says 'calibration: there is none'
exits 0 explain p.mlir --device gpu
says '2 transfers'
exits 3 calibrate --device nowhere

# ---- what is measured, kept, and shown; the processor's is another file
exits 0 calibrate --device gpu
says 'cuBLASLt  130000' 'cuDNN     91900' 'cuSOLVER  12000' 'cuBLAS    13.0.0' 'measuring fft' 'measuring dot_general f16'
for row in 'dot_general f16 cuBLASLt' 'dot_general i8 hilo' 'convolution f16 cuDNN' 'convolution bf16 hilo' \
    'lu f32 cuSOLVER' 'qr f64 hilo' 'reflectors complex<f32> cuSOLVER' 'eigh complex<f64> cuSOLVER' 'svd f32 hilo' \
    'cholesky complex<f64> cuSOLVER' 'triangular_solve f64 cuBLAS' 'fft f32 cuFFT' 'fft complex<f64> hilo'; do
    if grep -q "^$row " cache/calibration-gpu; then pass; else fail "no $row"; fi
done
if grep -q ' leaks 0 ' report; then pass; else fail "leaks: $(cat report)"; fi
cp cache/calibration-gpu good
"$HILO" calibrate --device gpu --show >shown 2>err
cmp -s shown out && pass || fail 'what was measured and what is shown differ'
exits 1 calibrate --show
says 'calibration: there is none'

# prefers LIBRARIES: a calibration by which these cost nothing, and all others a second
prefers() {
    awk -v free="$1" '/^[a-z_]+ [a-z0-9<>]+ (hilo|cu)/ {$4 = index(free, $3) ? 0 : 1e9; $5 = $6 = 0} 1' good \
        >cache/calibration-gpu
}

# ---- who is cheaper is chosen, each by itself
prefers hilo
exits 0 explain p.mlir --device gpu
says '2 transfers' 'expected: hilo 0.0000 ms, cuBLASLt 1000.0000 ms' 'expected: hilo 0.0000 ms, cuFFT 1000.0000 ms'
exits 0 compile p.mlir --device gpu --emit plan
if grep -q 'cufft\|by cuBLASLt' out; then fail 'libraries are used'; else pass; fi
prefers cuBLASLt
exits 0 compile p.mlir --device gpu --emit plan
says 'by cuBLASLt'
if grep -q 'cufft' out; then fail 'cuFFT is used'; else pass; fi
prefers 'cuBLASLt cuFFT'
exits 0 explain p.mlir --device gpu
says '0 transfers' 'cufft.fft' 'expected: cuBLASLt 0.0000 ms, hilo 1000.0000 ms' 'expected: cuFFT 0.0000 ms, hilo 1000.0000 ms'
exits 0 explain p.mlir --device gpu --backend codegen
says '2 transfers'
exits 0 run p.mlir --device gpu --input random:1 --compare reference

# ---- convolutions likewise
cat >c.mlir <<'EOP'
func.func @main(%x: tensor<1x6x6x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x6x6x8xf32>, tensor<3x3x8x8xf32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}
EOP
prefers cuDNN
exits 0 explain c.mlir --device gpu
says 'kernel cuDNN' 'expected: cuDNN 0.0000 ms, hilo 1000.0000 ms'
HILO_CUDNN_PATH= exits 0 run c.mlir --device gpu --input random:1
exits 0 run c.mlir --device gpu --input random:1 --timing 1 --json # not what was compiled without the library
says '"cached":false'
prefers hilo
exits 0 compile c.mlir --device gpu --emit plan
if grep -q 'by cuDNN' out; then fail 'cuDNN is used'; else pass; fi
prefers 'cuBLASLt cuFFT'

# ---- a program with such a product is compiled each time: files have kernels alone; one without is kept
exits 0 run p.mlir --device gpu --input random:1 --timing 1 --json
exits 0 run p.mlir --device gpu --input random:1 --timing 1 --json
says '"cached":false'
prefers cuFFT
exits 0 run p.mlir --device gpu --input random:1 --timing 1 --json
says '"cached":false'
exits 0 run p.mlir --device gpu --input random:1 --timing 1 --json
says '"cached":true'
exits 0 run p.mlir --device gpu --input random:1 --compare reference

# ---- the machine, for --machine: what is written is read back
exits 0 calibrate --device gpu --machine here.machine
says 'gpu sm_90a' 'device ' 'together '
exits 0 explain p.mlir --machine here.machine
says 'placement: '
exits 0 run p.mlir --device gpu --machine here.machine --input random:1 --compare reference
exits 2 calibrate --machine here.machine
says '--machine is for a GPU'
exits 3 calibrate --device gpu --machine nowhere/here.machine
says 'nowhere/here.machine'

# ---- another GPU's, or other libraries'
sed 's/^gpu .*/gpu sm_90 abacus/' good >cache/calibration-gpu
exits 1 calibrate --device gpu --show
says 'it was made with another processor or other libraries'
cp good cache/calibration-gpu
(HILO_CUFFT_PATH= "$HILO" calibrate --device gpu --show >out 2>err)
says 'it was made with another processor or other libraries'
finish
