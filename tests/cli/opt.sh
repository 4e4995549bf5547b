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

# Passes: any list of them, the pipeline of a level, what is said about them.
cat >p.mlir <<'EOF'
func.func private @f(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
EOF
prints_main() {
    prints 'module {
  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
    return %arg0 : tensor<f32>
  }
}'
}
# One partition, of as many as the mesh has devices.
cat >sharded.mlir <<'EOF'
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
EOF
exits 0 opt --partition sharded.mlir
says 'mhlo.num_partitions = 4 : i32' '@main(%arg0: tensor<4xf32>)' stablehlo.all_reduce
exits 2 opt --partition p.mlir
says 'has no mesh'
# Parameters and results are divided evenly: what is not is refused by its name.
sharding='{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
for uneven in "%a: tensor<8xf32>, %b: tensor<10xf32> $sharding) -> tensor<10xf32>" \
    "%b: tensor<10xf32>) -> (tensor<10xf32> $sharding)"; do
    echo "module attributes {mhlo.num_partitions = 4 : i32} {
      sdy.mesh @mesh = <[\"x\"=4]>
      func.func @main($uneven {
        return %b : tensor<10xf32>
      }
    }" >uneven.mlir
    exits 1 opt --partition uneven.mlir
    case $uneven in *%a*) port='parameter 1' ;; *) port='result 0' ;; esac
    says "has a sharding of $port by which the 10 elements of dimension 0 are in 4 parts, which are not of one size"
done
exits 0 opt --passes=inline,dce p.mlir
prints_main
exits 0 opt -O1 --stats p.mlir
prints_main
says 'pass ' 'dce '
exits 0 opt -O1 --stop-after fused p.mlir
says 'private @f'
exits 0 opt -O1 --stop-after inline p.mlir
prints_main
exits 0 opt -O1 --dump after:dce p.mlir
says '// after dce'
exits 0 opt -O1 --dump all p.mlir
says '// after inline' '// after dce'
exits 2 opt --passes=inline,dze p.mlir
says '--passes dze: expected fused, inline, ' 'did you mean dce?'
exits 2 opt -O1 --stop-after nothing p.mlir
says '--stop-after nothing: expected fused, '
exits 2 opt -O1 --dump after:nothing p.mlir
says '--dump after:nothing: expected after:PASS'
exits 2 opt
says 'usage: hilo opt FILE'
cat >r.mlir <<'EOF'
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %a : tensor<f32>
  %1 = stablehlo.negate %0 : tensor<f32>
  %2 = stablehlo.subtract %1, %1 : tensor<f32>
  return %2 : tensor<f32>
}
EOF
exits 0 opt --passes=simplify,dce r.mlir
says 'stablehlo.subtract %arg0, %arg0'
exits 0 opt --passes=simplify,dce --disable-rule negate_negate r.mlir
says stablehlo.negate
exits 0 opt --passes=simplify,dce --rule-limit 0 r.mlir
says 'stablehlo.subtract %1, %1'
exits 0 opt --passes=simplify,dce --floats no-nan --stats r.mlir
says 'dense<0.0' 'negate_negate ' 'subtract_same_float '
exits 2 opt --floats any r.mlir
exits 2 opt --passes=simplify --disable-rule=nothing r.mlir
says '--disable-rule nothing: expected a rule'
HILO_DUMP_TO=dumped exits 0 run p.mlir --input f32=2.5
HILO_DUMP_TO=dumped exits 0 run p.mlir --input f32=2.5
before=$(ls dumped/module_0002.*.before_optimizations.mlir) after=$(ls dumped/module_0002.*.after_optimizations.mlir)
if grep -q 'private @f' "$before" && ! grep -q 'private @f' "$after"; then pass; else
    fail 'HILO_DUMP_TO'
fi
# Every dump is a program that computes the same.
want=$("$HILO" run p.mlir --input f32=2.5)
ls dumped/module_0001.*.0001.after_*.mlir dumped/module_0001.*.after_optimizations.txt >files.txt 2>&1 ||
    fail "$(cat files.txt)"
for file in dumped/*; do
    if [ "$("$HILO" run "$file" --input f32=2.5 2>&1)" = "$want" ]; then pass; else fail "$file: another result"; fi
done
cat >h.mlir <<'END'
module @m {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %a : tensor<2xf32> loc("n"("f.py":1:2))
    return %0 : tensor<2xf32>
  }
}
END
exits 0 opt --emit hlo h.mlir
prints 'HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

ENTRY main.1 {
  parameter.2 = f32[2]{0} parameter(0)
  ROOT negate.3 = f32[2]{0} negate(parameter.2), metadata={op_name="n" source_file="f.py" source_line=1}
}'
cp out h.hlo
exits 0 opt --emit hlo -o again.hlo h.hlo
exits 0 run h.hlo --input 2xf32=1,2
says '[-1.0, -2.0]'
echo 'func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = chlo.digamma %a : tensor<f32> -> tensor<f32>
  return %0 : tensor<f32>
}' >digamma.mlir
exits 1 opt --emit hlo digamma.mlir
says "digamma.mlir:2:8: error: 'chlo.digamma' op has no form in HLO"
# A sharding that cannot be read is an error at the op.
for sharding in '{devices=[2,1]<=[2' '{devices=[2,1]<=[3]}' '{devices=[2]<=[2]}' '{devices=[2,1]0,0}' \
    '{devices=[2,1]<=[2]} x' what; do
    echo 'module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<8x6xf32>) -> tensor<8x6xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "'"$sharding"'"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}' >sharding.mlir
    exits 1 opt --passes=partition sharding.mlir
    says "sharding.mlir:3:10: error: 'stablehlo.custom_call' op has a sharding with '"
done
# One that is sound but not supported is not followed, and named once.
echo 'module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<8x5xf32>) -> tensor<8x5xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<8x5xf32>) -> tensor<8x5xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<8x5xf32>) -> tensor<8x5xf32>
    return %1 : tensor<8x5xf32>
  }
}' >sharding.mlir
exits 0 opt --passes=partition sharding.mlir
says "warning: sharding.mlir:3:10: 'stablehlo.custom_call' op has the sharding '{devices=[1,2]<=[2]}', which is not supported"
[ "$(grep -c 'is not supported' err)" = 1 ] || fail 'a warning for each sharding once'
exits 0 opt --list-passes
says 'inline ' 'in order: fused (-O0), inline'
exits 0 opt --list-passes --markdown
if diff "$root/docs/PASSES.md" out >err; then pass; else
    : >out
    fail 'docs/PASSES.md is not what hilo opt --list-passes --markdown prints'
fi

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
