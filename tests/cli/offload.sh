#!/bin/sh
# --machine: what is placed on the processor and on the GPU of machines, and values of programs that are divided, on a stand-in
# for NVIDIA's driver.
. "$(dirname "$0")/gpu.inc"
machines=$root/tests/target/machines

# layers N ROWS SIZE: a network of N products with weights, which are arguments.
layers() {
    x="tensor<$2x$3xf32>" w="tensor<$3x$3xf32>" i=0 args=
    while [ $i -lt "$1" ]; do args="$args, %w$i: $w" i=$((i + 1)); done
    echo "func.func @main(%t0: $x$args) -> $x {"
    echo "  %s = stablehlo.constant dense<0.1> : $x"
    i=0
    while [ $i -lt "$1" ]; do
        echo "  %d$i = stablehlo.dot_general %t$i, %w$i, contracting_dims = [1] x [0] : ($x, $w) -> $x"
        echo "  %m$i = stablehlo.multiply %d$i, %s : $x"
        echo "  %t$((i + 1)) = stablehlo.tanh %m$i : $x"
        i=$((i + 1))
    done
    echo "  return %t$1 : $x"
    echo "}"
}
layers 4 64 64 >layers.mlir
layers 8 512 4096 >weights.mlir
layers 1 4096 4096 >product.mlir
for n in 64 16777216; do
    cat >elements$n.mlir <<EOP
func.func @main(%x: tensor<${n}xf32>, %y: tensor<${n}xf32>) -> tensor<${n}xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<${n}xf32>
  %1 = stablehlo.add %0, %y : tensor<${n}xf32>
  return %1 : tensor<${n}xf32>
}
EOP
done
# a product after a reduction of much
cat >pooled.mlir <<'EOP'
func.func @main(%x: tensor<16x4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16x4096x4096xf32>, tensor<f32>) -> tensor<4096x4096xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}
EOP
# a routine of the host between products
cat >sorted.mlir <<'EOP'
func.func @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = "stablehlo.sort"(%0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
      : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %2 : tensor<4096x4096xf32>
}
EOP

# ---- decisions, by machine: unified, pcie (data on the GPU), pcie-host, coherent, little-memory
while read -r program decisions; do
    set -- $decisions
    for machine in unified pcie pcie-host coherent little-memory; do
        exits 0 explain "$program.mlir" --machine "$machines/$machine.machine"
        grep '^placement' out >placed
        if grep -q "^placement: $1: on the processor .*; " placed; then pass; else fail "$program on $machine: $1 expected"; fi
        shift
    done
done <<'EOP'
elements64 processor GPU processor GPU processor
elements16777216 processor GPU processor GPU processor
layers processor GPU processor GPU processor
product both GPU GPU GPU GPU
weights GPU GPU GPU GPU both
pooled GPU GPU both GPU both
sorted both GPU GPU GPU GPU
EOP
exits 0 explain weights.mlir --machine "$machines/little-memory.machine"
says 'on the GPU not enough memory; with 5 of 8 steps on the GPU' 'programs are divided from 1.15 on'
exits 0 explain elements64.mlir --machine "$machines/unified.machine" --json
says '"placement":"processor: on the processor 0.00101 ms (0 MB cross), on the GPU 0.00601 ms'

# ---- steps that are divided, and those that are not, and why
exits 0 explain product.mlir --machine "$machines/unified.machine"
says 'with 1 of 1 steps on the GPU, 1 divided (stablehlo.dot_general: 84 %), 29.1 ms (0 MB cross), a gain of 1.19'
exits 0 explain product.mlir --machine "$machines/pcie.machine"
says 'no step is divided: stablehlo.dot_general takes 2.3 ms, and 3.68 ms with 98 % on the GPU' \
    'of which 1.41 ms are transfers, a gain of 0.63'
exits 0 explain product.mlir --machine "$machines/coherent.machine"
says 'no step is divided: stablehlo.dot_general takes 2.3 ms, and 2.35 ms with 94 % on the GPU' \
    'of which 0.195 ms are transfers, a gain of 0.98'
(cat "$machines/unified.machine" && echo 'together 0.5 0.95') >warm.machine # both at once are slower
exits 0 explain product.mlir --machine warm.machine
says 'placement: GPU: ' 'no step is divided: stablehlo.dot_general takes 34.4 ms'
# where memory is shared, so is its bandwidth
exits 0 explain elements16777216.mlir --machine "$machines/unified.machine"
says 'placement: processor: ' 'no step is divided: stablehlo.add takes'

# ---- programs that are divided: values, transfers, kernels of both
cat >mixed.mlir <<'EOP'
func.func @main(%x: tensor<96x96xf32>, %y: tensor<96x96xf32>, %n: tensor<i32>) -> (tensor<96x96xf32>, tensor<96xf32>,
                                                                                 tensor<96x96xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %some = stablehlo.constant dense<0.05> : tensor<96x96xf32>
  %0 = stablehlo.add %x, %y : tensor<96x96xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]
      : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<96x96xf32>) -> tensor<96x96xf32>
  %3:2 = stablehlo.while(%i = %none, %z = %2) : tensor<i32>, tensor<96x96xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %a = stablehlo.add %z, %y : tensor<96x96xf32>
    %m = stablehlo.multiply %a, %some : tensor<96x96xf32>
    stablehlo.return %j, %m : tensor<i32>, tensor<96x96xf32>
  }
  %4 = stablehlo.reduce(%3#1 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<96x96xf32>, tensor<f32>) -> tensor<96xf32>
  %5 = stablehlo.transpose %y, dims = [1, 0] : (tensor<96x96xf32>) -> tensor<96x96xf32>
  return %3#1, %4, %5 : tensor<96x96xf32>, tensor<96xf32>, tensor<96x96xf32>
}
EOP
m=$machines/opposites.machine
exits 0 explain mixed.mlir --machine "$m"
says 'placement: both: ' 'for a GPU, sm_80: 6 launches; 6 transfers of 117.8 kB' 'on the GPU: 36 blocks of 256 threads' \
    'copy to the host  36.9 kB'
exits 0 explain mixed.mlir --machine "$m" --json
# a transfer's least time is that of the link, and the other unit's steps have its rates
transfer='s/.*"name":"to the GPU".*"ms":\([^,]*\),"times":1,"roof_ms":\([^,]*\).*/\1 \2/p'
if [ "$(tr '{' '\n' <out | sed -n "$transfer" | head -n 1)" = \
    '0.001152 0.001152' ]; then pass; else fail 'the least time of a transfer'; fi
says '"gpu":"sm_80","launches":6,"transfers":6,"transferred_bytes":117817' '"blocks":36,"block_threads":256,"shared_bytes":0'
exits 0 explain mixed.mlir --device gpu --run --runs 1 --input random:1 --input random:2 --input i32=1
says 'for a GPU, sm_90a: ' 'mean of 1 runs'
for level in 0 1 2 3; do
    for n in 0 3; do
        exits 0 run mixed.mlir --no-cache --device gpu --machine "$m" -O$level --compare reference \
            --input random:1 --input random:2 --input "i32=$n"
        if [ "$(report leaks) $(report failed)" = '0 0' ]; then pass; else fail "mixed.mlir: $(tail -n 1 report)"; fi
    done
done
exits 0 run mixed.mlir --no-cache --device gpu --machine "$m" --input random:1 --input random:2 --input i32=3
crossed="$(report launches) $(report graphs) $(report uploads) $(report downloads)"
if [ "$crossed" = '9 2 5 9' ]; then pass; else fail "launches, graphs, uploads, downloads: $crossed"; fi

# ---- programs of which steps are divided: along rows, batches and columns; kernels of rows; joined in place, or by a kernel
cat >divided.mlir <<'EOP'
func.func @main(%x: tensor<192x96xf32>, %w: tensor<96x80xf32>, %b: tensor<80xf32>, %q: tensor<3x24x32xf32>,
                %k: tensor<3x24x32xf32>, %v: tensor<4x96xf32>)
    -> (tensor<192x80xf32>, tensor<192xf32>, tensor<3x24x24xf32>, tensor<96x192xf32>, tensor<80xf32>, tensor<4x80xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %h = stablehlo.constant dense<0.5> : tensor<192x80xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<192x96xf32>, tensor<96x80xf32>) -> tensor<192x80xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<80xf32>) -> tensor<192x80xf32>
  %2 = stablehlo.add %0, %1 : tensor<192x80xf32>
  %3 = stablehlo.multiply %2, %h : tensor<192x80xf32>
  %4 = stablehlo.tanh %3 : tensor<192x80xf32>
  %5 = stablehlo.reduce(%4 init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<192x80xf32>, tensor<f32>) -> tensor<192xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<192xf32>) -> tensor<192x80xf32>
  %7 = stablehlo.subtract %4, %6 : tensor<192x80xf32>
  %8 = stablehlo.exponential %7 : tensor<192x80xf32>
  %9 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<192x80xf32>, tensor<f32>) -> tensor<192xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<192xf32>) -> tensor<192x80xf32>
  %11 = stablehlo.divide %8, %10 : tensor<192x80xf32>
  %12 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
      : (tensor<3x24x32xf32>, tensor<3x24x32xf32>) -> tensor<3x24x24xf32>
  %13 = stablehlo.transpose %x, dims = [1, 0] : (tensor<192x96xf32>) -> tensor<96x192xf32>
  %14 = stablehlo.reduce(%11 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<192x80xf32>, tensor<f32>) -> tensor<80xf32>
  %15 = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<4x96xf32>, tensor<96x80xf32>) -> tensor<4x80xf32>
  return %11, %9, %12, %13, %14, %15
      : tensor<192x80xf32>, tensor<192xf32>, tensor<3x24x24xf32>, tensor<96x192xf32>, tensor<80xf32>, tensor<4x80xf32>
}
EOP
inputs='--input random:1 --input random:2 --input random:3 --input random:4 --input random:5 --input random:6'
sed 's/arguments host/arguments device/' "$machines/alike.machine" >alike-device.machine
for alike in "$machines/alike.machine" alike-device.machine; do
    exits 0 explain divided.mlir --machine "$alike"
    says 'placement: both: ' ' divided (stablehlo.dot_general: '
    for level in 0 1 2 3; do
        exits 0 run divided.mlir --no-cache --device gpu --machine "$alike" -O$level --compare reference $inputs
        if [ "$(report leaks) $(report failed)" = '0 0' ]; then pass; else fail "divided.mlir: $(tail -n 1 report)"; fi
    done
done
# each call of the driver fails once; one of a product's parts waits for nothing, the other for the result
cat >rows.mlir <<'EOP'
func.func @main(%x: tensor<96x96xf32>, %w: tensor<96x96xf32>) -> tensor<96x96xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  return %0 : tensor<96x96xf32>
}
EOP
driver_calls_fail 20 rows.mlir --machine "$machines/alike.machine" --input random:1 --input random:2

# ---- refusals
exits 1 run mixed.mlir --no-cache --machine "$m" --input random:1 --input random:2 --input i32=1
says 'the program was compiled for a GPU with sm_80'
exits 1 compile mixed.mlir --machine "$m" -o mixed.hilo
says 'a program for both processor and GPU is not written to a file'
exits 1 compile mixed.mlir --machine "$m" --emit asm
says 'a program that is divided between processor and GPU has code for both'
echo 'gpu sm_80' >short.machine
exits 1 explain mixed.mlir --machine short.machine
says "short.machine: there is no line 'processor'"
sed 's/sm_80/generic/' "$m" >other.machine
exits 1 explain mixed.mlir --machine other.machine
says "a machine is for generated code, and its gpu must be one"
finish
