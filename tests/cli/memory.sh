#!/bin/sh
# --memory-limit: what is cheap is computed again where memory is short; results are the same bits. Where that does not do,
# large values are computed part by part (src/opt/strip_mine.c).
. "$(dirname "$0")/common.inc"

# Large values that are cheap, wanted at the begin and at the end, with products between that take memory, too.
big='tensor<1024x256xf32>' high='tensor<1024x8xf32>' square='tensor<256x256xf32>' thin='tensor<256x8xf32>'
dot() { # RESULT LEFT RIGHT DIMENSION LEFT-TYPE RIGHT-TYPE TYPE
    echo "%$1 = stablehlo.dot_general %$2, %$3, contracting_dims = [1] x [$4] : ($5, $6) -> $7"
}
{
    echo "func.func @main(%x: tensor<256xf32>, %w: $square, %v: $thin) -> tensor<1024xf32> {"
    echo '%zero = stablehlo.constant dense<0.0> : tensor<f32>'
    echo "%b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<256xf32>) -> $big"
    echo "%i = stablehlo.iota dim = 0 : $big"
    echo "%a = stablehlo.add %b, %i : $big"
    echo "%c = stablehlo.subtract %b, %i : $big"
    echo "%e = stablehlo.multiply %a, %c : $big"
    for f in cosine sine exponential tanh; do
        echo "%$f = stablehlo.$f %e : $big"
        dot "h_$f" $f v 0 "$big" "$thin" "$high"
    done
    echo "%h0 = stablehlo.add %h_cosine, %h_sine : $high"
    echo "%h1 = stablehlo.add %h_exponential, %h_tanh : $high"
    echo "%h = stablehlo.add %h0, %h1 : $high"
    dot d h v 1 "$high" "$thin" "$big"
    dot d1 d w 0 "$big" "$square" "$big"
    dot d2 d1 w 0 "$big" "$square" "$big"
    dot m d2 w 0 "$big" "$square" "$big"
    last=m
    for f in cosine sine exponential tanh; do
        echo "%m_$f = stablehlo.multiply %$last, %$f : $big"
        last=m_$f
    done
    echo "%s = stablehlo.reduce(%$last init: %zero) applies stablehlo.add across dimensions = [1]"
    echo "  : ($big, tensor<f32>) -> tensor<1024xf32>"
    echo 'return %s : tensor<1024xf32>'
    echo '}'
} >wide.mlir
exits 0 compile wide.mlir --emit plan
if ! grep -q kernel0 out; then # nothing to generate code with
    exits 0 run wide.mlir --input random:1 --memory-limit 1000
    finish
    exit
fi
block() { sed -n 's|^plan of.*(block \([0-9]*\),.*|\1|p' out; }
free=$(block)
exits 0 compile wide.mlir --emit plan --memory-limit 3000000
[ "$(block)" -lt 3000000 ] && [ "$free" -gt 6000000 ] && pass || fail "the block has $(block) bytes, and had $free"
for level in 0 1 2 3; do
    exits 0 run wide.mlir -O$level --input random:1 -o free.npz
    limit=$([ $level -gt 1 ] && echo 3000000 || echo 4300000)
    exits 0 run wide.mlir -O$level --input random:1 --memory-limit "$limit" -o fits.npz
    cmp -s free.npz fits.npz && pass || fail "-O$level: other results"
done
exits 0 run wide.mlir --input random:1 --memory-limit 3000000 --compare=reference --threads 3
exits 0 run wide.mlir --input random:1 --memory-limit 100000000 -o fits.npz
cmp -s free.npz fits.npz && pass || fail 'a limit that does not matter'
usual exits 3 run wide.mlir --input random:1 --memory-limit 100000
usual says 'more than the limit of 100000' 'the program needs '
exits 2 run wide.mlir --input random:1 --memory-limit many

# Reshaped memory, and what a loop reads: neither may be dropped while it is read.
cat >loop.mlir <<'MLIR'
func.func @main(%x: tensor<512xf32>) -> (tensor<512x512xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %most = stablehlo.constant dense<5> : tensor<i32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %s = stablehlo.sine %b : tensor<512x512xf32>
  %f = stablehlo.reshape %s : (tensor<512x512xf32>) -> tensor<262144xf32>
  %0:2 = stablehlo.while(%i = %zero, %v = %s) : tensor<i32>, tensor<512x512xf32>
  cond {
    %c = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.dot_general %v, %s, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    stablehlo.return %j, %d : tensor<i32>, tensor<512x512xf32>
  }
  %sorted = "stablehlo.sort"(%f) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<262144xf32>) -> tensor<262144xf32>
  %t = stablehlo.reshape %sorted : (tensor<262144xf32>) -> tensor<512x512xf32>
  %y = stablehlo.add %t, %0#1 : tensor<512x512xf32>
  return %y, %0#0 : tensor<512x512xf32>, tensor<i32>
}
MLIR
exits 0 run loop.mlir --input random:1 -o free.npz
for limit in 3000000 4000000 4500000 5500000; do
    status=0
    "$HILO" run loop.mlir --input random:1 --memory-limit $limit -o fits.npz >out 2>err || status=$?
    if [ $status = 0 ]; then
        cmp -s free.npz fits.npz && pass || fail "limit $limit: other results"
    else
        says 'the program needs '
    fi
done

# A training step of attention: weights, of all rows by all columns, are computed again in its second loop.
rows='tensor<1x512x16xf32>' all='tensor<1x512x512xf32>' each='tensor<1x512xf32>'
cat >attention.mlir <<END
func.func @main(%q: $rows, %k: $rows, %v: $rows, %g: $rows) -> ($rows, $rows, $rows, $rows) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %i = stablehlo.iota dim = 1 : tensor<1x512x512xi32>
  %j = stablehlo.iota dim = 2 : tensor<1x512x512xi32>
  %seen = stablehlo.compare LE, %j, %i : (tensor<1x512x512xi32>, tensor<1x512x512xi32>) -> tensor<1x512x512xi1>
  %lowest = stablehlo.broadcast_in_dim %least, dims = [] : (tensor<f32>) -> $all
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ($rows, $rows) -> $all
  %s = stablehlo.select %seen, %x, %lowest : tensor<1x512x512xi1>, $all
  %m = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2] : ($all, tensor<f32>) -> $each
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ($each) -> $all
  %d = stablehlo.subtract %s, %mb : $all
  %e = stablehlo.exponential %d : $all
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ($all, tensor<f32>) -> $each
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : ($each) -> $all
  %p = stablehlo.divide %e, %tb : $all
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ($all, $rows) -> $rows
  %h = stablehlo.tanh %o : $rows
  %do = stablehlo.multiply %h, %g : $rows
  %dv = stablehlo.dot_general %p, %do, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ($all, $rows) -> $rows
  %dp = stablehlo.dot_general %do, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ($rows, $rows) -> $all
  %w = stablehlo.multiply %dp, %p : $all
  %c = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [2] : ($all, tensor<f32>) -> $each
  %cb = stablehlo.broadcast_in_dim %c, dims = [0, 1] : ($each) -> $all
  %f = stablehlo.subtract %dp, %cb : $all
  %ds = stablehlo.multiply %f, %p : $all
  %dq = stablehlo.dot_general %ds, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ($all, $rows) -> $rows
  %dk = stablehlo.dot_general %ds, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ($all, $rows) -> $rows
  return %o, %dv, %dq, %dk : $rows, $rows, $rows, $rows
}
END
exits 0 compile attention.mlir --emit plan
free=$(block)
exits 0 compile attention.mlir --emit plan --memory-limit 700000
[ "$(block)" -lt 700000 ] && [ "$free" -gt 2000000 ] && pass || fail "attention: the block has $(block) bytes, and had $free"
for level in 0 1 2 3; do
    exits 0 run attention.mlir -O$level --input random:5 --memory-limit 700000 --compare reference --tolerance 1e-5
done
exits 0 run attention.mlir --input random:5 --memory-limit 700000 --backend interpreter --compare reference --tolerance 1e-5
for threads in 1 3; do
    exits 0 run attention.mlir --input random:5 --memory-limit 700000 --threads $threads -o $threads.npz
done
cmp -s 1.npz 3.npz && pass || fail 'attention in parts: other bits for other threads'
exits 3 run attention.mlir --input random:5 --memory-limit 100000
says 'part by part' 'the program needs '
finish
