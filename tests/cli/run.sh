#!/bin/sh
# hilo run: inputs of every kind, results as text and files, timing, interruption.
. "$(dirname "$0")/common.inc"

cat >two.mlir <<'EOF'
func.func @main(%x: tensor<2x3xf32> loc("x"), %k: tensor<f32> loc("k")) -> (tensor<2x3xf32> {jax.result_info = "sum"}) {
  %0 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
func.func @both(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi1>) {
  %0 = stablehlo.compare EQ, %x, %x : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  return %x, %0 : tensor<3xi32>, tensor<3xi1>
}
func.func @none() -> tensor<i64> {
  %0 = stablehlo.constant dense<7> : tensor<i64>
  return %0 : tensor<i64>
}
EOF
# identity TYPE: a program that returns its argument
identity() {
    echo "func.func @main(%x: $1) -> $1 { return %x : $1 }" >identity.mlir
}

# ---- literals, and results as text
exits 0 run two.mlir --input 2x3xf32=1,2,3,4,5,6.5 --input f32=0.5
prints 'sum: tensor<2x3xf32> =
  [[1.5, 2.5, 3.5],
   [4.5, 5.5, 7.0]]'
exits 0 run two.mlir --entry none
prints '0: tensor<i64> = 7'
exits 0 run two.mlir --entry both --input '3xi32=1, -2, 0x10'
prints '0: tensor<3xi32> = [1, -2, 16]
1: tensor<3xi1> = [true, true, true]'
exits 0 run --entry=none -O0 --backend=reference --threads 1 -- two.mlir
prints '0: tensor<i64> = 7'
status=0
"$HILO" run - --entry none <two.mlir >out 2>err || status=$?
prints '0: tensor<i64> = 7'

for case in '3xf32:1e10,-0.1,3:[10000000000.0, -0.1, 3.0]' '3xf64:1e300,0.1,1e-7:[1e+300, 0.1, 1e-07]' \
    '3xf16:inf,-inf,nan:[inf, -inf, nan]' '2xbf16:0x3F80,3.14159:[1.0, 3.14]' '2xf8E4M3FN:0.1,448:[0.1, 448.0]' \
    '2xf8E5M2:1,57344:[1.0, 57344.0]' '3xi1:true,0,1:[true, false, true]' \
    '2xui64:18446744073709551615,0:[18446744073709551615, 0]' \
    '2xi4:-8,7:[-8, 7]' '2xui2:3,0:[3, 0]' '2xcomplex<f32>:(1,-2),3:[(1.0, -2.0), (3.0, 0.0)]' \
    '2x0xf32:1:[]' 'f32:5:5.0' '4xi8:-128:[-128, -128, -128, -128]'; do
    type=${case%%:*} rest=${case#*:}
    values=${rest%%:*} want=${rest#*:}
    identity "tensor<$type>"
    exits 0 run identity.mlir --input "$type=$values"
    prints "0: tensor<$type> = $want"
done
identity 'tensor<2000xi32>'
exits 0 run identity.mlir --input 2000xi32=5
prints '0: tensor<2000xi32> = [5, 5, 5, ..., 5, 5, 5]'
identity 'tensor<?x2xi32>'
exits 0 run identity.mlir --input 1x2xi32=1,2
prints '0: tensor<1x2xi32> =
  [[1, 2]]'
exits 2 run identity.mlir --input 1x3xi32=1
says 'is tensor<?x2xi32>, but the literal is tensor<1x3xi32>'
exits 2 run identity.mlir --input random:1
says 'static shape'

# ---- what is wrong with inputs
exits 2 run two.mlir
says '0 of 2 inputs' "parameter 0 'x': tensor<2x3xf32>" 'hilo run two.mlir --input 2x3xf32=0 --input f32=0'
exits 2 run two.mlir --input 2x3xf32=0
says "1 of 2 inputs" "parameter 1 'k': tensor<f32>  (missing)"
exits 2 run two.mlir --input 2x3xf32=0 --input f32=0 --input f32=0
says 'too many inputs'
exits 2 run two.mlir --input 3x2xf32=0
says "parameter 0 'x' is tensor<2x3xf32>, but the literal is tensor<3x2xf32>"
exits 2 run two.mlir --input 2x3xf32=1,2
says 'expected 6'
exits 2 run two.mlir --input 2x3xf32=1,2,3,4,5,6,7
exits 2 run two.mlir --input 2x3xf32=1,2,3,4,5,six
says "'six'"
exits 2 run two.mlir --input '2x3xf32=1 2 3'
says 'commas'
exits 2 run two.mlir --input 2x3xf31=0
says '2x3xf32'
exits 2 run two.mlir --input weights
says 'random:SEED'
exits 2 run two.mlir --input random:x
exits 2 run two.mlir --entry both --input 3xi32=2147483648
says 'range'
exits 3 run two.mlir --input absent.npy
says absent.npy
exits 2 run two.mlir --entry absent
says '@main, @both, @none'
exits 2 run /dev/null
echo 'func.func @main() { return %0 : tensor<f32> }' >bad.mlir
exits 1 run bad.mlir
says 'bad.mlir:1:'

# ---- files
exits 0 run two.mlir --input 2x3xf32=1,2,3,4,5,6 --input f32=1 -o sum.npy
prints ''
exits 0 run two.mlir --input sum.npy --input f32=1
says '[[3.0, 4.0, 5.0]'
exits 0 run two.mlir --entry both --input 3xi32=1,2,3 -o both.npz
exits 2 run two.mlir --entry both --input 3xi32=1,2,3 -o both.npy
says '.npz'
exits 2 run two.mlir --entry none -o x.txt
says '.npy or .npz'
exits 3 run two.mlir --entry none -o absent/x.npy
exits 2 run two.mlir --entry both --input sum.npy
says 'parameter 0 is tensor<3xi32>, but the array is tensor<2x3xf32>'

# Arrays of an archive go by name, whatever their order; or in order, if names do not match.
cat >swap.mlir <<'EOF'
func.func @main(%a: tensor<f32>, %b: tensor<f32>)
    -> (tensor<f32> {jax.result_info = "k"}, tensor<f32> {jax.result_info = "x"}) {
  return %a, %b : tensor<f32>, tensor<f32>
}
func.func @take(%x: tensor<f32> loc("x"), %k: tensor<f32> loc("k")) -> (tensor<f32>, tensor<f32>) {
  return %x, %k : tensor<f32>, tensor<f32>
}
func.func @order(%x: tensor<f32>, %k: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  return %x, %k : tensor<f32>, tensor<f32>
}
EOF
exits 0 run two.mlir --entry both --input 3xi32=1,2,3 --timing 2 --trace trace.json
if [ "$(grep -c '"cat":"run","name":"run [0-2]"' trace.json)" = 3 ] &&
    grep -q '"dur":[0-9.]*,"cat":"[a-z]*","name":".*"bytes":[0-9]' trace.json &&
    tail -n 1 trace.json | grep -qx ']}'; then pass; else fail 'a trace of three runs'; fi
exits 3 run two.mlir --entry none --trace absent/t.json
exits 0 run swap.mlir --input f32=1 --input f32=2 -o kx.npz
exits 0 run swap.mlir --entry take --input kx.npz
prints '0: tensor<f32> = 2.0
1: tensor<f32> = 1.0'
exits 0 run swap.mlir --entry order --input kx.npz
prints '0: tensor<f32> = 1.0
1: tensor<f32> = 2.0'
exits 2 run swap.mlir --entry take --input f32=1 --input kx.npz
says 'too many inputs'

# Types that numpy lacks are written as V1 and V2, and read back as the parameter's type.
for type in bf16 f8E4M3FN f8E5M2 f8E8M0FNU f4E2M1FN i4 ui4 i2 i1 f16 complex\<f64\> ui16; do
    identity "tensor<2x$type>"
    exits 0 run identity.mlir --input random:3 -o x.npy
    exits 0 run identity.mlir --input random:3
    cp out first
    exits 0 run identity.mlir --input x.npy
    same first "$type through a file"
done
identity 'tensor<2xbf16>'
exits 0 run identity.mlir --input 2xbf16=1 -o x.npy
if grep -qa "'descr': '<V2'" x.npy; then pass; else fail 'bf16 is V2'; fi
identity 'tensor<2xf8E5M2>'
exits 2 run identity.mlir --input x.npy
says "numpy's type 'V2'"

# ---- random numbers are the same everywhere
identity 'tensor<4xf32>'
exits 0 run identity.mlir --input random:1
prints '0: tensor<4xf32> = [0.3681895, 0.52671796, 0.7376992, 0.6924456]'
identity 'tensor<6xi8>'
exits 0 run identity.mlir --input random:1
prints '0: tensor<6xi8> = [2, 4, 5, 5, 6, 3]'

# ---- timing
exits 0 run two.mlir --entry none --timing 3 --backend reference
says '; 1 of 1 steps by the reference evaluator'
exits 0 run two.mlir --entry none --timing 3
says 'median' 'minimum' 'of 3 runs'
exits 0 run two.mlir --entry none --timing 3 --json
figures='"median_ms":[0-9.]+,"min_ms":[0-9.]+,"compile_ms":[0-9.]+,"cached":[a-z]+,"peak_bytes":[0-9]+,"evaluated_steps":[0-9]+'
for tier in baseline optimised replaced; do figures="$figures,\"${tier}_kernels\":[0-9]+"; done
if grep -qE "^\\{$figures\\}\$" out; then pass; else
    fail 'JSON'
fi
if [ "$(wc -l <out)" = 1 ]; then pass; else fail 'one line of JSON'; fi

# ---- Ctrl-C ends a run, and leaves no file. (A shell lets its background jobs ignore it; env does not.)
cat >endless.mlir <<'EOF'
func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %c) : tensor<i32>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>
           stablehlo.return %t : tensor<i1> }
    do { %n = stablehlo.add %i, %i : tensor<i32>
         stablehlo.return %n : tensor<i32> }
  return %0 : tensor<i32>
}
EOF
status=0
timeout -s INT 1 "$HILO" run endless.mlir -o endless.npy >out 2>err || status=$?
if [ "$status" = 124 ]; then pass; else fail 'interrupted by timeout'; fi
timeout --preserve-status -s INT 1 "$HILO" run endless.mlir -o endless.npy >out 2>err || status=$?
if [ "$status" = 130 ]; then pass; else fail 'status 130 expected'; fi
if ls endless.npy* >/dev/null 2>&1; then fail 'a file was left'; else pass; fi

# ---- compared with another backend, and dumped
cat >sums.mlir <<'EOF'
func.func @main(%x: tensor<4x1000xf32>, %k: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1]
      : (tensor<4x1000xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %k : tensor<4xf32>, tensor<4xi32>
}
EOF
exits 0 run sums.mlir --input random:1 --compare reference
says '1: equal'
# Where terms cancel, what was added up counts, also if the exact result is 0.
cat >cancel.mlir <<'MLIR'
func.func @main(%x: tensor<4x4096xf32>, %k: tensor<4096x16xf32>) -> (tensor<4xf32>, tensor<4x16xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reverse %x, dims = [1] : tensor<4x4096xf32>
  %a = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<4x4096xf32>, tensor<f32>) -> tensor<4xf32>
  %d = stablehlo.subtract %a, %b : tensor<4xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x4096xf32>
  %c = stablehlo.subtract %x, %h : tensor<4x4096xf32>
  %p = stablehlo.dot_general %c, %k, contracting_dims = [1] x [0]
       : (tensor<4x4096xf32>, tensor<4096x16xf32>) -> tensor<4x16xf32>
  return %d, %p : tensor<4xf32>, tensor<4x16xf32>
}
MLIR
for seed in 1 2 3; do exits 0 run cancel.mlir --input random:$seed --compare reference; done
says '1: within tolerance: ' ' of 64 elements differ; worst: '

# one of two results of a kernel aliases what both are computed from
cat >over.mlir <<'MLIR'
func.func @main(%x: tensor<1x130x64xi8>) -> (tensor<1x130x64xf8E4M3FN>, tensor<1x130x64xi8>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %t = stablehlo.compare GT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<1x130x64xi8>) -> tensor<1x130x64xi8>
  %n = stablehlo.not %s : tensor<1x130x64xi8>
  %c = stablehlo.convert %s : (tensor<1x130x64xi8>) -> tensor<1x130x64xf8E4M3FN>
  return %c, %n : tensor<1x130x64xf8E4M3FN>, tensor<1x130x64xi8>
}
MLIR
exits 0 run over.mlir --input random:1 --compare reference
# A batch of one: columns do not vary along its index.
cat >batch.mlir <<'EOF'
func.func @main(%a: tensor<1x128x128xf32>, %b: tensor<1x128x128xf32>) -> tensor<1x128x128xf32> {
  %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x128x128xf32>, tensor<1x128x128xf32>) -> tensor<1x128x128xf32>
  return %r : tensor<1x128x128xf32>
}
EOF
exits 0 run batch.mlir --input random:1 --compare reference
# expensive values are kept for the next pass over a row, also where the first pass reduces element by element
cat >kept.mlir <<'MLIR'
func.func @main(%x: tensor<40xi32>, %y: tensor<40xui4>) -> tensor<40xui4> {
  %seven = stablehlo.constant dense<7> : tensor<40xi32>
  %r = stablehlo.remainder %x, %seven : tensor<40xi32>
  %c = stablehlo.convert %r : (tensor<40xi32>) -> tensor<40xui4>
  %p = stablehlo.multiply %c, %y : tensor<40xui4>
  %zero = stablehlo.constant dense<0> : tensor<ui4>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
       : (tensor<40xui4>, tensor<ui4>) -> tensor<ui4>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<ui4>) -> tensor<40xui4>
  %0 = stablehlo.multiply %b, %c : tensor<40xui4>
  return %0 : tensor<40xui4>
}
MLIR
exits 0 run kept.mlir --input random:1 --compare reference
exits 1 run sums.mlir --input 4x1000xf32=0.1 --input 4xi32=1 --passes expand --compare reference --tolerance 1e-30
says 'outside tolerance: ' 'of 4 elements differ' 'results differ by more than the tolerance' '1: equal'
exits 2 run - --compare reference
says '--compare compiles the program twice'
exits 0 run two.mlir --entry none --dump-dir dumped
if [ "$(ls dumped | wc -l)" -ge 2 ]; then pass; else fail 'dumps expected'; fi

finish
