#!/bin/sh
# hilo opt and hilo ops.
. "$(dirname "$0")/common.inc"

cat >f.mlir <<'EOF'
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %cst = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.add %arg0, %cst : tensor<2xf32> loc("here")
  return %0 : tensor<2xf32>
}
EOF
exits 0 opt f.mlir
says 'stablehlo.add %arg0, '
cp out printed.mlir
exits 0 opt printed.mlir
same printed.mlir 'printed and read'
exits 0 opt --generic f.mlir
says '"stablehlo.add"(%arg0, '
cp out generic.mlir
exits 0 opt generic.mlir
same printed.mlir 'printed in the generic form and read'
exits 0 opt --locations f.mlir
says 'loc("here")'
exits 0 opt --elide 1 f.mlir
says 'dense_resource<__elided__>'
status=0
"$HILO" opt - <f.mlir >out 2>err || status=$?
same printed.mlir 'standard input'
echo 'func.func @f() { return %0 : tensor<f32> }' >bad.mlir
exits 1 opt bad.mlir
says 'bad.mlir:1:25: error: ' "$(printf '\n      ')"
prints ''
"$HILO" opt f.mlir >/dev/full 2>err
if [ $? = 3 ]; then pass; else fail 'a full disk'; fi

exits 0 ops
says stablehlo.dot_general chlo.top_k
exits 0 ops --json
says '{"op":"stablehlo.add","form":'
exits 0 ops --markdown
if diff "$root/docs/OPS.md" out >err; then pass; else
    : >out
    fail 'docs/OPS.md is not what hilo ops --markdown prints'
fi

finish
