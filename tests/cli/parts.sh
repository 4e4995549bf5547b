#!/bin/sh
# Products whose columns an epilogue reads in equal parts, as gates of recurrent cells do (src/fuse/parts.c): one kernel
# computes both. Results are those of the evaluator, for several processors by the interpreter, and their bits do not depend
# on threads.
. "$(dirname "$0")/common.inc"

# loop ROWS WIDTH PARTS FIRST: a loop that multiplies its state by a matrix of PARTS parts and adds up the tanh of each, the
# first of which begins at column FIRST of the product. EXTRA: columns of the operand after those of the state.
loop() {
    rows=$1 width=$2 parts=$3 first=$4 columns=$(($2 * $3 + $4)) sum=$(($2 + EXTRA))
    state="tensor<${rows}x${width}xf32>" product="tensor<${rows}x${columns}xf32>" left="tensor<${rows}x${sum}xf32>"
    matrix="tensor<${sum}x${columns}xf32>" extra="tensor<${rows}x${EXTRA}xf32>"
    echo "func.func @main(%a: $state, %x: $extra, %w: $matrix, %b: tensor<${columns}xf32>) -> $state {"
    echo "  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %a) : tensor<i32>, $state
  cond {
    %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %l = stablehlo.concatenate %h, %x, dim = 1 : ($state, $extra) -> $left
    %d = stablehlo.dot_general %l, %w, contracting_dims = [1] x [0] : ($left, $matrix) -> $product
    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<${columns}xf32>) -> $product
    %s = stablehlo.add %d, %c : $product
    %z = stablehlo.constant dense<0.0> : $state
    %t0 = stablehlo.multiply %h, %z : $state"
    part=0
    while [ $part -lt "$parts" ]; do
        at=$((first + part * width))
        echo "    %p$part = stablehlo.slice %s [0:$rows, $at:$((at + width))] : ($product) -> $state
    %q$part = stablehlo.tanh %p$part : $state
    %t$((part + 1)) = stablehlo.add %t$part, %q$part : $state"
        part=$((part + 1))
    done
    echo "    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t$parts : tensor<i32>, $state
  }
  return %r#1 : $state
}"
}

# check: loop.mlir
check() {
    exits 0 run loop.mlir --input random:3 --compare reference --tolerance 1e-5
    for threads in 1 3; do
        exits 0 run loop.mlir --input random:3 --threads $threads -o loop.$threads.npz
    done
    cmp -s loop.1.npz loop.3.npz && pass || fail "$*: other bits for other threads"
    for cpu in x86-64-v3 x86-64-v4 neoverse-v1; do
        exits 0 run loop.mlir --input random:3 --backend interpreter --target-cpu $cpu --compare reference --tolerance 1e-5
    done
}

# kernels N: that the loop of loop.mlir runs with a contraction.
kernels() {
    exits 0 compile loop.mlir --emit plan --target-cpu x86-64-v4 -o loop.plan
    n=$(sed -n '/ test 3 times/,/ jump /p' loop.plan | grep -c ' kernel ')
    [ "$n" = "$1" ] && pass || usual fail "$2: $n kernels in the loop, not $1"
}

needs_code_generator

# shape KERNELS ROWS WIDTH PARTS FIRST EXTRA
shape() {
    EXTRA=$6
    loop "$2" "$3" "$4" "$5" >loop.mlir
    check
    kernels "$1" "$*"
}

# Kernels of a loop: the concatenation, the product with its gates; the counter is not needed.
shape 2 8 64 4 0 32
shape 2 5 64 3 0 48   # fewer rows than a tile has, an odd number of them
shape 2 13 32 2 0 100 # two tiles that share rows
shape 2 24 32 2 0 500 # slabs of sums
shape 2 4 96 8 0 8
# What is no part of equal ones, and shapes for which the kernels stay apart.
shape 3 8 64 3 32 32
shape 3 8 40 4 0 100
shape 4 3 64 4 0 100
shape 3 8 64 9 0 32

# The state itself as the left operand: a copy is left of it, as all of its old value is read while the new one is computed.
EXTRA=1
loop 8 128 4 0 | sed 's/%l = .*/%l = stablehlo.slice %h [0:8, 0:128] : (tensor<8x128xf32>) -> tensor<8x128xf32>/
    s/tensor<8x129xf32>/tensor<8x128xf32>/; s/tensor<129x512xf32>/tensor<128x512xf32>/' >loop.mlir
check
kernels 1 state

EXTRA=64
# What gates add to the parts, here a line of an argument by the counter and a bias, is read in parts, too. The counter is a
# kernel now.
loop 8 64 4 0 | sed 's/%b: tensor<256xf32>/&, %y: tensor<3x8x256xf32>/
    s/%z = .*/&\
    %y0 = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 8, 256]\
      : (tensor<3x8x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x256xf32>\
    %y1 = stablehlo.reshape %y0 : (tensor<1x8x256xf32>) -> tensor<8x256xf32>\
    %g = stablehlo.add %y1, %c : tensor<8x256xf32>/
    s/%q0 = .*/%g0 = stablehlo.slice %g [0:8, 0:64] : (tensor<8x256xf32>) -> tensor<8x64xf32>\
    %q0 = stablehlo.add %p0, %g0 : tensor<8x64xf32>/
    s/%q2 = .*/%g2 = stablehlo.slice %g [0:8, 128:192] : (tensor<8x256xf32>) -> tensor<8x64xf32>\
    %q2 = stablehlo.multiply %p2, %g2 : tensor<8x64xf32>/' >loop.mlir
check
kernels 3 'parts of a sum'

# A reader that also reads the product as a whole, reads parts reversed, or other rows of a part.
loop 8 64 4 0 >plain.mlir
sed 's/%q1 = .*/%m = stablehlo.constant dense<0.0> : tensor<f32>\
    %u = stablehlo.reduce(%s init: %m) applies stablehlo.maximum across dimensions = [1]\
      : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>\
    %q1 = stablehlo.broadcast_in_dim %u, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>/' plain.mlir >loop.mlir
check
sed 's/%q2 = .*/%q2 = stablehlo.reverse %p2, dims = [1] : tensor<8x64xf32>/' plain.mlir >loop.mlir
check
kernels 3 reversed
sed 's/%q3 = .*/%q3 = stablehlo.reverse %p3, dims = [0] : tensor<8x64xf32>/' plain.mlir >loop.mlir
check
kernels 3 'reversed rows'
# A part that is the first state's too, the same part twice, a matrix of one number.
sed 's/%q2 = .*/%q2 = stablehlo.multiply %p2, %p1 : tensor<8x64xf32>/' plain.mlir >loop.mlir
check
kernels 2 'a product of parts'
sed 's/%l = stable/%v = stablehlo.constant dense<0.1> : tensor<128x256xf32>\n    %l = stable/
    s/%l, %w/%l, %v/' plain.mlir >loop.mlir
check
# What the product reads is computed before it, although a kernel after it that reads the same state could compute that, too.
cat >loop.mlir <<'END'
func.func @main(%a: tensor<20x256xf32>, %w: tensor<256x512xf32>, %b: tensor<512xf32>)
    -> (tensor<20x256xf32>, tensor<20x256xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %h = %a, %k = %a) : tensor<i32>, tensor<20x256xf32>, tensor<20x256xf32>
  cond {
    %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %l = stablehlo.tanh %h : tensor<20x256xf32>
    %d = stablehlo.dot_general %l, %w, contracting_dims = [1] x [0]
      : (tensor<20x256xf32>, tensor<256x512xf32>) -> tensor<20x512xf32>
    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<512xf32>) -> tensor<20x512xf32>
    %s = stablehlo.add %d, %c : tensor<20x512xf32>
    %p0 = stablehlo.slice %s [0:20, 0:256] : (tensor<20x512xf32>) -> tensor<20x256xf32>
    %p1 = stablehlo.slice %s [0:20, 256:512] : (tensor<20x512xf32>) -> tensor<20x256xf32>
    %q0 = stablehlo.tanh %p0 : tensor<20x256xf32>
    %q1 = stablehlo.logistic %p1 : tensor<20x256xf32>
    %t = stablehlo.multiply %q0, %q1 : tensor<20x256xf32>
    %m = stablehlo.add %h, %k : tensor<20x256xf32>
    %z = stablehlo.logistic %m : tensor<20x256xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t, %z : tensor<i32>, tensor<20x256xf32>, tensor<20x256xf32>
  }
  return %r#1, %r#2 : tensor<20x256xf32>, tensor<20x256xf32>
}
END
check
kernels 3 'a kernel after the product'

finish
