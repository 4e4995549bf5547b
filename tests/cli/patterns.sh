#!/bin/sh
# Names of what kernels compute, in plans (src/fuse/patterns.def).
. "$(dirname "$0")/common.inc"

# names PATTERN: the plan of the program on standard input has a kernel of this name, and of no other.
names() {
    { echo 'func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>, %u: tensor<64xf32>) -> tensor<4x64xf32> {'
      echo '  %zero = stablehlo.constant dense<0.0> : tensor<f32>'
      echo '  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>'
      echo '  %one = stablehlo.constant dense<1.0> : tensor<4x64xf32>'
      echo '  %half = stablehlo.constant dense<0.5> : tensor<4x64xf32>'
      echo '  %eps = stablehlo.constant dense<1.0e-5> : tensor<4xf32>'
      echo '  %n = stablehlo.constant dense<64.0> : tensor<4xf32>'
      sed -e 's/ = \([a-z]*\) \(%[a-z0-9]*\)$/ = stablehlo.\1 \2 : tensor<4x64xf32>/' \
          -e 's/ = \([a-z]*\) \(%[a-z0-9]*, %[a-z0-9]*\)$/ = stablehlo.\1 \2 : tensor<4x64xf32>/' \
          -e 's/small \([a-z]*\) \(.*\);/stablehlo.\1 \2 : tensor<4xf32>/' \
          -e 's/sum(\(.*\))/stablehlo.reduce(\1 init: %zero) applies stablehlo.add across/' \
          -e 's/most(\(.*\))/stablehlo.reduce(\1 init: %least) applies stablehlo.maximum across/' \
          -e 's/across$/across dimensions = [1] : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>/' \
          -e 's/rows(\(.*\))/stablehlo.broadcast_in_dim \1, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>/' \
          -e 's/dot(\(.*\))/stablehlo.dot_general \1, contracting_dims = [1] x [0] : of/' \
          -e 's/: of$/: (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>/'
      echo '  return %r : tensor<4x64xf32>'
      echo '}'; } >program.mlir
    exits 0 compile program.mlir --emit plan
    found=$(sed -n 's/.* ; \([^:;]*\): .*;.*/\1/p' out | sort -u | tr '\n' ';')
    if [ "$found" = "$1" ]; then pass; else fail "kernels named '$found', '$1' expected"; fi
}

needs_code_generator

softmax='  %m = most(%x)
  %mb = rows(%m)
  %d = subtract %x, %mb
  %e = exponential %d
  %s = sum(%e)
  %sb = rows(%s)'
names 'softmax;' <<END
$softmax
  %r = divide %e, %sb
END
names 'attention;softmax;' <<END
$softmax
  %p = divide %e, %sb
  %r = dot(%p, %w)
END
names 'log-softmax;' <<END
$softmax
  %l = small log %s;
  %lb = rows(%l)
  %r = subtract %d, %lb
END
norm='  %t = sum(%x)
  %mean = small divide %t, %n;
  %mb = rows(%mean)
  %c = subtract %x, %mb
  %q = multiply %c, %c
  %v = sum(%q)
  %va = small divide %v, %n;
  %ve = small add %va, %eps;'
names 'layer norm;' <<END
$norm
  %i = small rsqrt %ve;
  %ib = rows(%i)
  %r = multiply %c, %ib
END
names 'layer norm;' <<END
$norm
  %i = small sqrt %ve;
  %ib = rows(%i)
  %r = divide %c, %ib
END
names 'RMS norm;' <<END
  %q = multiply %x, %x
  %v = sum(%q)
  %va = small divide %v, %n;
  %ve = small add %va, %eps;
  %i = small rsqrt %ve;
  %ib = rows(%i)
  %r = multiply %x, %ib
END
gelu='  %x2 = multiply %in, %in
  %x3 = multiply %x2, %in
  %k = stablehlo.constant dense<0.044715> : tensor<4x64xf32>
  %kx = multiply %k, %x3
  %a = add %in, %kx
  %c = stablehlo.constant dense<0.7978846> : tensor<4x64xf32>
  %ca = multiply %c, %a
  %t = tanh %ca
  %t1 = add %one, %t
  %th = multiply %half, %t1'
names 'GELU;' <<END
  %in = negate %x
$gelu
  %r = multiply %in, %th
END
names 'matmul + activation;' <<END
  %in = dot(%x, %w)
$gelu
  %r = multiply %in, %th
END
names 'FFN;matmul + activation;' <<END
  %in = dot(%x, %w)
$gelu
  %y = multiply %in, %th
  %r = dot(%y, %w)
END
names 'SiLU;' <<END
  %g = logistic %x
  %r = multiply %x, %g
END
names 'matmul;' <<END
  %r = dot(%x, %w)
END
names '' <<END
  %e = exponential %x
  %r = subtract %e, %x
END

# ---- programs of their own
exits_named() { # FILE NAME
    exits 0 compile "$1" --emit plan
    says "; $2: "
}
cat >rope.mlir <<'MLIR'
func.func @main(%x: tensor<8x4x16xf32>, %cos: tensor<8x4x8xf32>, %sin: tensor<8x4x8xf32>) -> tensor<8x4x16xf32> {
  %a = stablehlo.slice %x [0:8, 0:4, 0:8] : (tensor<8x4x16xf32>) -> tensor<8x4x8xf32>
  %b = stablehlo.slice %x [0:8, 0:4, 8:16] : (tensor<8x4x16xf32>) -> tensor<8x4x8xf32>
  %0 = stablehlo.multiply %a, %cos : tensor<8x4x8xf32>
  %1 = stablehlo.multiply %b, %sin : tensor<8x4x8xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<8x4x8xf32>
  %3 = stablehlo.multiply %b, %cos : tensor<8x4x8xf32>
  %4 = stablehlo.multiply %sin, %a : tensor<8x4x8xf32>
  %5 = stablehlo.add %3, %4 : tensor<8x4x8xf32>
  %r = stablehlo.concatenate %2, %5, dim = 2 : (tensor<8x4x8xf32>, tensor<8x4x8xf32>) -> tensor<8x4x16xf32>
  return %r : tensor<8x4x16xf32>
}
MLIR
exits_named rope.mlir RoPE
cat >batch.mlir <<'MLIR'
func.func @main(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) {epsilon = 0.001 : f32, feature_index = 1 : i64}
       : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0 : tensor<4x8xf32>
}
MLIR
exits_named batch.mlir 'batch norm'

# ---- an operand that all tasks would pack, whole, is the operand of a kernel of its own
cat >head.mlir <<'MLIR'
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x256xf32>, %head: tensor<256x50257xf32>) -> tensor<128x50257xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<128x64xf32>, tensor<64x256xf32>) -> tensor<128x256xf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<128x256xf32>, tensor<f32>) -> tensor<128xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<128xf32>) -> tensor<128x256xf32>
  %d = stablehlo.subtract %y, %b : tensor<128x256xf32>
  %r = stablehlo.dot_general %d, %head, contracting_dims = [1] x [0]
    : (tensor<128x256xf32>, tensor<256x50257xf32>) -> tensor<128x50257xf32>
  return %r : tensor<128x50257xf32>
}
MLIR
exits 0 explain head.mlir
if grep -q 'row-wise, contraction' out; then fail 'each task packs 51 MB'; else pass; fi
sed 's/50257/512/g' head.mlir >small.mlir
exits 0 explain small.mlir
says 'contraction, row-wise, contraction'

finish
