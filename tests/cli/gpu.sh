#!/bin/sh
# --device gpu: programs on a stand-in for NVIDIA's driver, transfers, memory that ends, every call of the driver failed.
. "$(dirname "$0")/gpu.inc"

cat >add.mlir <<'EOP'
func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.add %x, %y : tensor<1000xf32>
  %1 = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1000xf32>
  return %2 : tensor<1000xf32>
}
EOP
cat >loop.mlir <<'EOP'
func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %r:2 = stablehlo.while(%i = %zero, %y = %s) : tensor<i32>, tensor<64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = "stablehlo.sort"(%y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
    %z = stablehlo.add %t, %s : tensor<64xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<64xf32>
  }
  return %r#1, %s : tensor<64xf32>, tensor<64xf32>
}
EOP
product_loop 10 64x64xf32 >counted.mlir

# ---- values are those of the processor, nothing is left over, and copies are as many as needed
for case in add.mlir loop.mlir counted.mlir; do
    exits 0 run "$case" --no-cache --input random:1
    cp out want
    exits 0 run "$case" --no-cache --input random:1 --device gpu
    same want "$case on a GPU"
    if [ "$(report leaks)" = 0 ]; then pass; else fail "$case: leaks"; fi
done
exits 0 run add.mlir --no-cache --input random:1 --device gpu:0
if [ "$(report launches) $(report uploads) $(report downloads)" = '1 2 1' ]; then pass; else fail "add.mlir: $(cat report)"; fi
exits 0 run loop.mlir --no-cache --input 64xf32=3 --input i32=2 --device gpu --backend interpreter
prints "$("$HILO" run loop.mlir --no-cache --input 64xf32=3 --input i32=2)"

# ---- a loop whose number of iterations is known reads nothing back; from its second iteration on, its body is one graph
exits 0 run counted.mlir --no-cache --input random:1 --device gpu
found="$(report downloads) $(report graphs) $(report updates)"
if [ "$found" = '1 9 0' ]; then pass; else fail "counted.mlir: $(cat report)"; fi
exits 0 compile counted.mlir --target-gpu sm_90a --emit plan
says 'test 10 times, then to 5'
exits 0 run counted.mlir --no-cache --input random:1
cp out want
exits 0 compile counted.mlir --target-gpu sm_90a -o counted.hilo
exits 0 run counted.hilo --input random:1 --device gpu
same want 'a counted loop from a file'

# ---- copies in graphs are of rows, whose length drivers limit to 2 GiB: longer ones are several
cat >copies.mlir <<'EOP'
func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %end = stablehlo.constant dense<5> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %n : tensor<i32>
    %t = stablehlo.add %a, %b : tensor<64xf32>
    stablehlo.return %j, %b, %t : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  }
  return %r#1, %r#2 : tensor<64xf32>, tensor<64xf32>
}
EOP
exits 0 run copies.mlir --no-cache --input 64xf32=3 --input i32=1
cp out want
for pitch in 2147483647 256 100 7; do
    HILO_FAKE_CUDA_PITCH=$pitch exits 0 run copies.mlir --no-cache --input 64xf32=3 --input i32=1 --device gpu
    same want "copies of rows of $pitch bytes"
done
if [ "$(report graphs) $(report leaks)" = '4 0' ]; then pass; else fail "copies.mlir: $(cat report)"; fi

# ---- a language model: weights, cache and the chosen token stay on the device, of which four bytes a token are read
m=$root/tests/llm/tiny-llama
exits 0 generate -m "$m" --precision f32 -p A --raw -n 4
cp out want
exits 0 generate -m "$m" --precision f32 -p A --raw -n 4 --engine hilo:gpu --json
says "\"text\":\"$(cat want)\"" '"decode_allocations":0,"decode_copied_bytes":0'
few="$(report uploads) $(report downloads) $(report bytes)" few_launches=$(report launches) few_graphs=$(report graphs)
exits 0 generate -m "$m" --precision f32 -p A --raw -n 7 --engine hilo:gpu
more="$(report uploads) $(report downloads) $(report bytes) $(report leaks)"
# a step is one launch of a graph
if [ "$(report launches) $(report graphs)" = "$few_launches $((few_graphs + 3))" ]; then pass; else fail "$(cat report)"; fi
if [ "$more" = "${few%% *} 7 $((${few##* } + 3 * 4)) 0" ]; then pass; else fail "tokens cross: $few, then $more"; fi
HILO_CUDA_PATH=$dir/nothing exits 3 generate -m "$m" -p A --engine hilo:gpu
says 'no driver for NVIDIA GPUs'
exits 2 generate -m "$m" -p A --engine hilo:tpu
says 'expected hilo, hilo:gpu, reference or pjrt:PATH'

# ---- where programs run
exits 0 devices
says 'gpu:0: stand-in GPU, compute capability 9.0 (sm_90a), 4 multiprocessors'
export HILO_FAKE_CUDA_DEVICES=3
exits 0 devices
says 'gpu:0: stand-in GPU, compute capability 9.0 (sm_90a), 4 multiprocessors' \
    'gpu:2: stand-in GPU, compute capability 9.0 (sm_90a), 6 multiprocessors'
exits 0 run loop.mlir --no-cache --input random:1
cp out want
for n in 0 1 2; do
    exits 0 run loop.mlir --no-cache --input random:1 --device gpu:$n
    same want "on GPU $n"
    if [ "$(report leaks) $(report device)" = "0 $n" ]; then pass; else fail "GPU $n: $(cat report)"; fi
done
exits 3 run add.mlir --input random:1 --device gpu:3
says 'there is no GPU 3; the driver has 3'
unset HILO_FAKE_CUDA_DEVICES
exits 3 run add.mlir --input random:1 --device gpu:7
says 'there is no GPU 7; the driver has 1'
exits 3 run add.mlir --input random:1 --device tpu
says 'no such device; there are: cpu, gpu, gpu:N'
HILO_CUDA_PATH=$dir/nothing exits 3 run add.mlir --input random:1 --device gpu
says 'no driver for NVIDIA GPUs (libcuda.so.1 comes with it'
HILO_FAKE_CUDA_SM=75 exits 1 run add.mlir --input random:1 --device gpu
says 'has compute capability 7.5; hilo needs 8.0'

# ---- files
exits 0 compile add.mlir --target-gpu sm_80 -o add.hilo
exits 0 run add.mlir --no-cache --input random:1
cp out want
exits 0 run add.hilo --input random:1 --device gpu
same want 'a file on a GPU'
exits 1 run add.hilo --input random:1
says 'the program is for a GPU (sm_80); this is cpu'
exits 0 compile loop.mlir --target-gpu sm_90a -o loop.hilo
HILO_FAKE_CUDA_SM=89 exits 1 run loop.hilo --input random:1 --device gpu
says 'the program is for a GPU (sm_90a); this is gpu:0, stand-in GPU'
HILO_CACHE_DIR=$dir/cache exits 0 run loop.mlir --input random:1 --device gpu
cp out want
HILO_CACHE_DIR=$dir/cache exits 0 run loop.mlir --input random:1 --device gpu
same want 'from the compile cache'

# ---- code ahead of time: cubins by nvJitLink beside the PTX, here by a stand-in whose cubins are PTX in an ELF file
HILO_NVJITLINK_PATH= exits 0 compile counted.mlir --target-gpu sm_80 -o ptx.hilo
says 'warning: PTX only, which the driver compiles when the program is loaded: no nvJitLink' 'HILO_NVJITLINK_PATH is empty'
HILO_NVJITLINK_PATH= exits 3 compile counted.mlir --target-gpu sm_80 --emit object -o out.cubin
says 'no nvJitLink'
HILO_NVJITLINK_PATH=$(dirname "$HILO")/tests
export HILO_NVJITLINK_PATH
exits 0 explain counted.mlir --target-gpu sm_80
says 'of PTX, ' ' of cubins'
exits 0 compile counted.mlir --target-gpu sm_80 -o cubin.hilo
exits 0 run counted.mlir --no-cache --input random:1
cp out want
# runs FILE CODE SM: the file runs on such a GPU from cubins, or from PTX
runs() {
    HILO_FAKE_CUDA_SM=$3 exits 0 run "$1" --input random:1 --device gpu
    same want "$1 on $3"
    HILO_FAKE_CUDA_SM=$3 exits 0 explain "$1" --device gpu --json
    says "\"code\":\"$2\""
}
runs ptx.hilo PTX 80
runs cubin.hilo cubin 80
runs cubin.hilo cubin 86
runs cubin.hilo PTX 90
HILO_FAKE_CUDA_NO_CUBINS=1 runs cubin.hilo PTX 80
says 'cubins for sm_80 are not used: cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU'
for n in 1 2 3 4 5; do # each call of nvJitLink
    HILO_FAKE_NVJITLINK_FAIL=$n exits 0 compile counted.mlir --target-gpu sm_80 -o failed.hilo
    says 'PTX only' 'nvJitLink 13.0 for sm_80: error'
    if cmp -s failed.hilo ptx.hilo; then pass; else fail "call $n of nvJitLink failed"; fi
done
HILO_FAKE_NVJITLINK_MOST=90 exits 0 compile counted.mlir --target-gpu sm_100 -o failed.hilo
says 'nvJitLink 13.0 for sm_100: error 17'
exits 0 compile counted.mlir --target-gpu sm_90a --emit object -o out.cubin
if [ "$(head -c 4 out.cubin | tail -c 3)" = ELF ]; then pass; else fail 'an object of a GPU'; fi
unset HILO_NVJITLINK_PATH
status=0
"$HILO" compile counted.mlir --target-gpu sm_90a --emit object -o true.cubin >out 2>err || status=$?
if [ $status = 3 ] && grep -q 'no nvJitLink' err; then
    echo "skipped: the true nvJitLink: $(cat err)"
else # machine 190, the GPU in the second byte of the flags or in the first
    flags=$(od -An -tu1 -j 48 -N 2 true.cubin | grep -cw 90)
    found="$status $(od -An -tu1 -N 4 true.cubin) $(od -An -tu2 -j 18 -N 2 true.cubin) $flags"
    # shellcheck disable=SC2086
    found=$(echo $found)
    if [ "$found" = '0 127 69 76 70 190 1' ]; then pass; else fail "the true nvJitLink: $found"; fi
    exits 0 compile counted.mlir --target-gpu sm_90a -o true.hilo
    runs true.hilo PTX 90 # the stand-in for the driver does not run SASS
fi

# ---- memory that ends
HILO_FAKE_CUDA_MEMORY=9000 exits 3 run add.mlir --no-cache --input random:1 --device gpu
says 'no 4000 bytes for result 0 on GPU 0: 8000 bytes are in use'
if [ "$(report leaks)" = 0 ]; then pass; else fail "leaks"; fi

# ---- the script for machines with a GPU: all of its programs run
status=0
export MODEL="$m" HILO_CUBLASLT_PATH="$tests" HILO_CUDNN_PATH="$tests" HILO_CUSOLVER_PATH="$tests"
"$root/scripts/gpu.sh" --quick "$dir/gpu.json" >out 2>err || status=$?
cat gpu.json >>out
says 'tests/op: 4 passed, 0 failed' '"name":"svd","ms":' '"torch":"' '"jax":"' \
    '"name":"tiny","ms":' '"name":"cuBLASLt","ms":' '"name":"cuDNN","ms":' '"tiny_launches":6'
found="$status $(grep -c '"ms":[0-9]' gpu.json) $(grep -c '"tokens_per_s":[0-9]' gpu.json)"
if [ "$found" = '0 15 1' ]; then pass; else fail "gpu.json: $(cat gpu.json)"; fi
status=0
HILO_CUDA_PATH=$dir/nothing "$root/scripts/gpu.sh" --quick "$dir/none.json" >out 2>err || status=$?
if [ "$status" = 1 ] && [ ! -e none.json ]; then pass; else fail "without a driver: status $status"; fi
says 'no driver for NVIDIA GPUs'

# ---- each call fails once: an error that names it, no crash, no leak
driver_calls_fail 60 loop.mlir --input 64xf32=3 --input i32=2

finish
