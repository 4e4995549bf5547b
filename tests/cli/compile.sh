#!/bin/sh
# hilo compile: forms, and files that are refused.
. "$(dirname "$0")/common.inc"

cat >add.mlir <<'MLIR'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
MLIR
exits 0 compile add.mlir --emit plan
says 'plan of'
exits 0 compile add.mlir --emit stablehlo -o out.mlir
exits 0 run out.mlir --input 2xf32=1,2
says '[2.0, 4.0]'
exits 1 compile add.mlir --backend reference -o add.hilo
says 'reference evaluator'
[ ! -e add.hilo ] && pass || fail 'a file was left'
exits 2 compile add.mlir --emit plam
says 'did you mean plan?'
exits 2 compile add.mlir --entry other --emit plan
exits 3 compile absent.mlir --emit plan
exits 3 run absent.hilo
printf 'no program' >bad.hilo
exits 1 run bad.hilo
says 'not a .hilo file'

finish
