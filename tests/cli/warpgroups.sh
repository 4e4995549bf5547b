#!/bin/sh
# Products by the matrix units of warpgroups (src/lower/mma.c): kernels for sm_90a compute what the evaluator does, by the
# interpreter and on a stand-in GPU.
. "$(dirname "$0")/gpu.inc"

# agrees TARGET UNIT: the program's kernel multiplies by wgmma or by mma.
agrees() {
    exits 0 compile product.mlir --target-gpu "$1" --emit kir
    says " $2.bf16 %"
    exits 0 run product.mlir --input random:5 --backend interpreter --target-cpu "$1" --compare reference
}

# product LHS RHS ROWS COLUMNS DIMENSIONS: with a bias and a function in its kernel.
product() {
    cat >product.mlir <<END
func.func @main(%a: tensor<$1xbf16>, %b: tensor<$2xbf16>, %c: tensor<$4xf32>) -> tensor<$3x$4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = $5 : (tensor<$1xbf16>, tensor<$2xbf16>) -> tensor<$3x$4xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<$4xf32>) -> tensor<$3x$4xf32>
  %2 = stablehlo.add %0, %1 : tensor<$3x$4xf32>
  %3 = stablehlo.abs %2 : tensor<$3x$4xf32>
  return %3 : tensor<$3x$4xf32>
}
END
    agrees sm_90a wgmma
}

product 72x136 136x200 72 200 '[1] x [0]'
exits 0 run product.mlir --input random:5 --device gpu --compare reference
agrees sm_80 mma
agrees sm_100 mma
product 128x128 264x128 128 264 '[1] x [1]'
product 136x200 136x72 200 72 '[0] x [0]'
product 200x128 64x200 128 64 '[0] x [1]'
exits 0 run product.mlir --input random:5 --device gpu --compare reference

# factors are copied as boxes of matrices, whose maps are made for the addresses of each launch: in a loop, whose iterations are
# graphs, and from a file
product_loop 6 128x128xbf16 >product.mlir
exits 0 compile product.mlir --target-gpu sm_90a --emit kir
says 'copy_tensor b'
exits 0 run product.mlir --no-cache --input random:5 --device gpu --compare reference
if [ "$(report graphs)" -gt 0 ]; then pass; else fail "graphs: $(cat report)"; fi
exits 0 run product.mlir --no-cache --input random:5 --device gpu
cp out want
exits 0 compile product.mlir --target-gpu sm_90a -o product.hilo
exits 0 run product.hilo --input random:5 --device gpu
if cmp -s out want; then pass; else fail 'a file gives other results'; fi
driver_calls_fail 30 product.mlir --input random:5 # those that encode maps among them

# a kernel for GPUs alone
exits 0 compile product.mlir --target-gpu sm_90a --emit kir -o product.kir
exits 0 kir product.kir --target sm_90a --emit asm
says 'wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16'
run kir product.kir --target sm_80 --emit asm
if [ "$status" != 0 ]; then pass; else fail 'wgmma for sm_80'; fi
says 'the target has no tensor memory accelerator'

finish
