#!/bin/sh
# Attention whose weights are stored, since its backward pass reads them, too: products with weights, or with their gradients,
# leave out what a mask makes 0 (src/lower/ranges.c), whatever the mask is, and compute what the evaluator does.
. "$(dirname "$0")/common.inc"

needs_code_generator

# backward MASK...: lines that compute %s, the scores of which some are masked, from %x and the positions %i and %j, or from an
# argument %a. Results are those of the attention and the gradients of its operands.
backward() {
    cat >backward.mlir <<END
func.func @main(%q: tensor<2x128x40xf32>, %k: tensor<2x128x40xf32>, %v: tensor<2x128x40xf32>, %g: tensor<2x128x40xf32>,
                %a: tensor<128x128xi1>)
    -> (tensor<2x128x40xf32>, tensor<2x128x40xf32>, tensor<2x128x40xf32>, tensor<2x128x40xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<128x128xi32>
  %j = stablehlo.iota dim = 1 : tensor<128x128xi32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
       : (tensor<2x128x40xf32>, tensor<2x128x40xf32>) -> tensor<2x128x128xf32>
$(cat)
  %m = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
       : (tensor<2x128x128xf32>, tensor<f32>) -> tensor<2x128xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x128xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x128x128xf32>
  %e = stablehlo.exponential %d : tensor<2x128x128xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
       : (tensor<2x128x128xf32>, tensor<f32>) -> tensor<2x128xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x128xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x128x128xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
       : (tensor<2x128x128xf32>, tensor<2x128x40xf32>) -> tensor<2x128x40xf32>
  %dv = stablehlo.dot_general %p, %g, batching_dims = [0] x [0], contracting_dims = [1] x [1]
       : (tensor<2x128x128xf32>, tensor<2x128x40xf32>) -> tensor<2x128x40xf32>
  %dp = stablehlo.dot_general %g, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2]
       : (tensor<2x128x40xf32>, tensor<2x128x40xf32>) -> tensor<2x128x128xf32>
  %w = stablehlo.multiply %dp, %p : tensor<2x128x128xf32>
  %c = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [2]
       : (tensor<2x128x128xf32>, tensor<f32>) -> tensor<2x128xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x128xf32>
  %f = stablehlo.subtract %dp, %cb : tensor<2x128x128xf32>
  %ds = stablehlo.multiply %f, %p : tensor<2x128x128xf32>
  %dq = stablehlo.dot_general %ds, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x128x128xf32>, tensor<2x128x40xf32>) -> tensor<2x128x40xf32>
  %dk = stablehlo.dot_general %q, %ds, batching_dims = [0] x [0], contracting_dims = [1] x [1]
        : (tensor<2x128x40xf32>, tensor<2x128x128xf32>) -> tensor<2x40x128xf32>
  %dkt = stablehlo.transpose %dk, dims = [0, 2, 1] : (tensor<2x40x128xf32>) -> tensor<2x128x40xf32>
  return %o, %dv, %dq, %dkt : tensor<2x128x40xf32>, tensor<2x128x40xf32>, tensor<2x128x40xf32>, tensor<2x128x40xf32>
}
END
    exits 0 run backward.mlir --input random:5 --compare reference --tolerance 1e-5
    exits 0 run backward.mlir --input random:5 --backend interpreter --compare reference --tolerance 1e-5
    for threads in 1 3; do
        exits 0 run backward.mlir --input random:5 --threads $threads -o $threads.npz
    done
    cmp -s 1.npz 3.npz && pass || fail 'other bits for other threads'
}

products() { # multiply-adds on PROCESSOR
    exits 0 explain backward.mlir --run --runs 1 --backend interpreter --target-cpu "$1"
    sed -n 's/.*fma \([0-9]*\),.*/\1/p' out | awk '{ n += $1 } END { print n }'
}

compared() { # DIRECTION: %allowed of pairs of positions
    echo "  %allowed = stablehlo.compare $1, %j, %i : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>"
}
add_mask() { # of the pairs for which %allowed holds
    cat <<'END'
  %inf = stablehlo.broadcast_in_dim %least, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
  %mask = stablehlo.select %allowed, %none, %inf : tensor<128x128xi1>, tensor<128x128xf32>
  %maskb = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<128x128xf32>) -> tensor<2x128x128xf32>
  %s = stablehlo.add %x, %maskb : tensor<2x128x128xf32>
END
}

echo '  %s = stablehlo.negate %x : tensor<2x128x128xf32>' | backward
for cpu in x86-64-v3 x86-64-v4; do
    products $cpu >"all.$cpu"
done
{ compared LE; add_mask; } | backward
# Of the six products four are with weights: 0.66 of each are computed, with groups of 32. Of scores, and of the gradients of
# weights, tiles are not computed of which all are masked.
for cpu in x86-64-v3 x86-64-v4; do
    n=$(products $cpu) all=$(cat "all.$cpu")
    [ "$((100 * n))" -lt "$((72 * all))" ] && pass || fail "$cpu: $n of $all multiply-adds with a causal mask"
done
# where the mask chooses between scores and a number
{ compared LE; cat <<'END'
  %low = stablehlo.constant dense<-3.0e38> : tensor<2x128x128xf32>
  %b = stablehlo.broadcast_in_dim %allowed, dims = [1, 2] : (tensor<128x128xi1>) -> tensor<2x128x128xi1>
  %s = stablehlo.select %b, %x, %low : tensor<2x128x128xi1>, tensor<2x128x128xf32>
END
} | backward
# a mask that is an argument
{ echo '  %allowed = stablehlo.not %a : tensor<128x128xi1>'; add_mask; } | backward
# rows that are masked altogether are NaN
{ compared LT; add_mask; } | backward

# Masked scores that are stored: tiles of which all are masked are not computed.
cat >backward.mlir <<'END'
func.func @main(%q: tensor<2x128x40xf32>, %k: tensor<2x128x40xf32>) -> tensor<2x128x128xf32> {
  %i = stablehlo.iota dim = 1 : tensor<2x128x128xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x128x128xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<2x128x128xf32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
       : (tensor<2x128x40xf32>, tensor<2x128x40xf32>) -> tensor<2x128x128xf32>
  %allowed = stablehlo.compare LE, %j, %i : (tensor<2x128x128xi32>, tensor<2x128x128xi32>) -> tensor<2x128x128xi1>
  %s = stablehlo.select %allowed, %x, %low : tensor<2x128x128xi1>, tensor<2x128x128xf32>
  return %s : tensor<2x128x128xf32>
}
END
exits 0 run backward.mlir --input random:5 --compare reference --tolerance 1e-5
for cpu in x86-64-v3 x86-64-v4; do
    exits 0 run backward.mlir --input random:5 --backend interpreter --target-cpu $cpu --compare reference --tolerance 1e-5
    n=$(products $cpu)
    [ "$n" -ge 655360 ] && [ "$n" -lt 1100000 ] && pass || fail "$cpu: $n multiply-adds of 1310720"
done

# gradients RESULT: a product whose elements are multiplied by weights that a mask makes 0, and RESULT
gradients() {
    cat >backward.mlir <<END
func.func @main(%q: tensor<2x128x40xf32>, %k: tensor<2x128x40xf32>, %s: tensor<2x128x128xf32>, %c: tensor<2x128xf32>)
    -> (tensor<2x128x128xf32>, tensor<2x128x128xf32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x128x128xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x128x128xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<2x128x128xf32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
       : (tensor<2x128x40xf32>, tensor<2x128x40xf32>) -> tensor<2x128x128xf32>
  %allowed = stablehlo.compare LE, %j, %i : (tensor<2x128x128xi32>, tensor<2x128x128xi32>) -> tensor<2x128x128xi1>
  %m = stablehlo.select %allowed, %s, %low : tensor<2x128x128xi1>, tensor<2x128x128xf32>
  %w = stablehlo.exponential %m : tensor<2x128x128xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x128xf32>
  %d = stablehlo.subtract %x, %cb : tensor<2x128x128xf32>
  %r = stablehlo.multiply %w, %d : tensor<2x128x128xf32>
  return %r, $1 : tensor<2x128x128xf32>, tensor<2x128x128xf32>
}
END
    exits 0 run backward.mlir --input random:5 --compare reference --tolerance 1e-5
    for cpu in x86-64-v3 x86-64-v4; do
        exits 0 run backward.mlir --input random:5 --backend interpreter --target-cpu $cpu --compare reference --tolerance 1e-5
    done
}
for result in %w %x %d; do
    gradients $result
    for cpu in x86-64-v3 x86-64-v4; do
        products $cpu >"$result.$cpu"
    done
done
for cpu in x86-64-v3 x86-64-v4; do
    n=$(cat "%w.$cpu") all=$(cat "%x.$cpu")
    [ "$((100 * n))" -lt "$((85 * all))" ] && pass || fail "$cpu: $n of $all multiply-adds"
    [ "$(cat "%d.$cpu")" -ge "$all" ] && pass || fail "$cpu: what a result is computed from is left out"
done

# What multiplies a product is searched for a mask in bounded time, also where each value is read twice.
t='tensor<2x64x64xf32>'
{
    echo "func.func @main(%q: $t, %k: $t, %w: $t) -> $t {"
    echo "  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ($t, $t) -> $t"
    echo "  %0 = stablehlo.tanh %w : $t"
    i=0
    while [ $i -lt 40 ]; do
        echo "  %$((i + 1)) = stablehlo.multiply %$i, %$i : $t"
        i=$((i + 1))
    done
    echo "  %r = stablehlo.multiply %x, %40 : $t"
    echo "  return %r : $t"
    echo '}'
} >chain.mlir
exits 0 run chain.mlir --input random:5 --compare reference --tolerance 1e-5
finish
