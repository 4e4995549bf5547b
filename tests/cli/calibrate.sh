#!/bin/sh
# hilo calibrate, and what --backend auto and library make of installed libraries. What needs one that is missing is left out.
. "$(dirname "$0")/common.inc"

HILO_TIER=optimised # so that what is compiled is in the cache at once
export HILO_TIER

cat >dot.mlir <<'MLIR'
func.func @main(%a: tensor<96x96xf32>, %b: tensor<96x96xf32>) -> tensor<96x96xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  return %0 : tensor<96x96xf32>
}
MLIR
HILO_CACHE_DIR=
export HILO_CACHE_DIR
exits 1 calibrate --show
says 'calibration: there is none'
exits 2 calibrate now
exits 0 compile dot.mlir --emit plan
if ! grep -q kernel0 out; then # nothing to generate code with
    finish
    exit
fi

# ---- what is not there is said, and hilo's own code used
for variable in ONEDNN OPENBLAS FFTW; do
    export HILO_${variable}_PATH=
done
exits 0 explain --backend library dot.mlir
says 'kernel0' "warning: backend 'library': no oneDNN" 'libdnnl2' 'no OpenBLAS' "hilo's own code is used"
says 'HILO_ONEDNN_PATH is empty'
exits 0 run --backend library --compare reference dot.mlir --input random:1
HILO_OPENBLAS_PATH=/nowhere
exits 0 run --backend library dot.mlir --input 96x96xf32=1 --input 96x96xf32=1
says 'no OpenBLAS' '/nowhere'
unset HILO_ONEDNN_PATH HILO_OPENBLAS_PATH HILO_FFTW_PATH

HILO_CACHE_DIR=$dir/cache
exits 0 calibrate
says 'copies' 'dot_general' 'complex<f64>' 'measuring fft'
cp cache/calibration good
"$HILO" calibrate --show >shown 2>err
cmp -s shown out && pass || fail 'what was measured and what is shown differ'
exits 0 run dot.mlir --compare reference --input random:1

# ---- another machine's, and what is no calibration
sed 's/^machine .*/machine abacus/' good >cache/calibration
exits 1 calibrate --show
says 'it was made with another processor or other libraries'
exits 0 run dot.mlir --compare reference --input random:1
sed '$s/ .*/ f32 unknown 1 2 3/' good >cache/calibration
exits 1 calibrate --show
says 'it is damaged'
echo nothing >cache/calibration
exits 1 calibrate --show
says 'not of this version'

# ---- who is cheaper is chosen, in another executable
if ! grep -q '^dot_general f32 oneDNN' good; then
    finish
    exit
fi
sed 's/^dot_general f32 hilo.*/dot_general f32 hilo 0 0 0/' good >cache/calibration
exits 0 explain dot.mlir
says 'kernel0' 'expected: hilo'
exits 0 run dot.mlir --input random:1 --timing 1 --json
says '"cached":false'
sed 's/^dot_general f32 oneDNN.*/dot_general f32 oneDNN 0 0 0/; s/^dot_general f32 hilo.*/dot_general f32 hilo 1e9 0 0/' \
    good >cache/calibration
exits 0 explain dot.mlir
says 'routine onednn.dot_general' 'expected: oneDNN' 'hilo 1000.0000 ms'
exits 0 explain --backend codegen dot.mlir
says 'kernel0'
exits 0 run dot.mlir --input random:1 --timing 1 --json
says '"cached":false'
exits 0 run dot.mlir --input random:1 --timing 1 --json
usual says '"cached":true' # where nothing is found in the compile cache
exits 0 run dot.mlir --compare reference --input random:1

# ---- a file runs where the library is missing
exits 0 compile dot.mlir -o dot.hilo
exits 0 run dot.hilo --input random:1 -o with.npz
HILO_ONEDNN_PATH= "$HILO" run dot.hilo --input random:1 >without 2>err && pass || fail 'it should run without the library'
finish
