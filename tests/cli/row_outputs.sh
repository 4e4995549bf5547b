#!/bin/sh
# Kernels that store more than one value of a row (src/fuse/fuse.c): a softmax whose exponentials, sums and maxima others
# read, of other ranks too, is one kernel, and computes what the evaluator does.
. "$(dirname "$0")/common.inc"

needs_code_generator

kernels() { if [ "$(grep -c "$1" out)" = "$2" ]; then pass; else fail "not $2 kernels are $1"; fi; }
agrees() {
    for threads in 1 3; do
        exits 0 run "$1" --input random:3 --input random:4 --threads $threads --compare reference
    done
    for cpu in x86-64-v2 x86-64-v4 neoverse-v1; do
        exits 0 run "$1" --input random:3 --input random:4 --backend interpreter --target-cpu $cpu --compare reference
    done
}

# The forward and the backward pass of a softmax, which multiply with a matrix between them. The backward pass reads the
# exponentials and the sums; its values have a dimension more.
cat >softmax.mlir <<'END_OF_PROGRAM'
func.func @main(%x: tensor<48x40x56xf32>, %m: tensor<48x56x56xf32>)
    -> (tensor<48x40x56xf32>, tensor<1x48x40x56xf32>, tensor<48x40xi1>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %low = stablehlo.constant dense<-2.0> : tensor<48x40x56xf32>
  %most = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [2]
       : (tensor<48x40x56xf32>, tensor<f32>) -> tensor<48x40xf32>
  %mb = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<48x40xf32>) -> tensor<48x40x56xf32>
  %d = stablehlo.subtract %x, %mb : tensor<48x40x56xf32>
  %e = stablehlo.exponential %d : tensor<48x40x56xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
       : (tensor<48x40x56xf32>, tensor<f32>) -> tensor<48x40xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<48x40xf32>) -> tensor<48x40x56xf32>
  %p = stablehlo.divide %e, %sb : tensor<48x40x56xf32>
  %c = stablehlo.compare LT, %x, %low : (tensor<48x40x56xf32>, tensor<48x40x56xf32>) -> tensor<48x40x56xi1>
  %any = stablehlo.reduce(%c init: %false) applies stablehlo.or across dimensions = [2]
       : (tensor<48x40x56xi1>, tensor<i1>) -> tensor<48x40xi1>
  %ab = stablehlo.broadcast_in_dim %any, dims = [0, 1] : (tensor<48x40xi1>) -> tensor<48x40x56xi1>
  %w = stablehlo.select %ab, %p, %d : tensor<48x40x56xi1>, tensor<48x40x56xf32>
  %y = stablehlo.dot_general %w, %m, batching_dims = [0] x [0], contracting_dims = [2] x [1]
       : (tensor<48x40x56xf32>, tensor<48x56x56xf32>) -> tensor<48x40x56xf32>
  %yr = stablehlo.reshape %y : (tensor<48x40x56xf32>) -> tensor<1x48x40x56xf32>
  %er = stablehlo.reshape %e : (tensor<48x40x56xf32>) -> tensor<1x48x40x56xf32>
  %sr = stablehlo.reshape %sum : (tensor<48x40xf32>) -> tensor<1x48x40xf32>
  %q = stablehlo.multiply %sr, %sr : tensor<1x48x40xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0, 1, 2] : (tensor<1x48x40xf32>) -> tensor<1x48x40x56xf32>
  %g = stablehlo.multiply %yr, %er : tensor<1x48x40x56xf32>
  %b = stablehlo.divide %g, %qb : tensor<1x48x40x56xf32>
  %t = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [3]
       : (tensor<1x48x40x56xf32>, tensor<f32>) -> tensor<1x48x40xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1, 2] : (tensor<1x48x40xf32>) -> tensor<1x48x40x56xf32>
  %r = stablehlo.subtract %b, %tb : tensor<1x48x40x56xf32>
  return %w, %r, %any : tensor<48x40x56xf32>, tensor<1x48x40x56xf32>, tensor<48x40xi1>
}
END_OF_PROGRAM
exits 0 explain softmax.mlir
kernels 'row-wise' 2
kernels 'loop, ' 0
agrees softmax.mlir

# What is read before the kernel of the rows runs has a kernel of its own.
cat >before.mlir <<'END_OF_PROGRAM'
func.func @main(%x: tensor<64x512xf32>, %m: tensor<64x512xf32>) -> (tensor<64x512xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
       : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  %s = "stablehlo.sort"(%sum) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %o = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %d = stablehlo.subtract %x, %sb : tensor<64x512xf32>
  %r = stablehlo.multiply %d, %o : tensor<64x512xf32>
  return %r, %sum : tensor<64x512xf32>, tensor<64xf32>
}
END_OF_PROGRAM
agrees before.mlir
finish
