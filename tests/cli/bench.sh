#!/bin/sh
# hilo bench: figures, recipes, failures.
. "$(dirname "$0")/common.inc"

cat >add.mlir <<'END'
func.func @main(%a: tensor<4xf32>, %b: tensor<2x2xi32>) -> (tensor<4xf32>, tensor<2x2xi32>) {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0, %b : tensor<4xf32>, tensor<2x2xi32>
}
END
exits 0 bench --runs 3 add.mlir
says 'median ms' 'peak MB' add.mlir ' 3 '
exits 0 bench --runs 2 --json add.mlir add.mlir
says '[{"name":"add.mlir","median_ms":' '"min_ms":' '"runs":2' '"compile_ms":' '"peak_bytes":'
exits 0 bench --seconds 0 add.mlir --input 4xf32=1 --input 2x2xi32=1
says ' 1 '

# A recipe: each kind of it; what does not fit is refused.
cat >add.json <<'END'
{"inputs": [{"shape": [4], "kind": "normal", "std": 2},
            {"shape": [2, 2], "kind": "randint", "lo": 0, "hi": 9}]}
END
exits 0 bench --runs 1 add.mlir
for kind in uniform const tril spd; do
    echo "{\"inputs\": [{\"shape\": [4], \"kind\": \"uniform\"}, {\"shape\": [2, 2], \"kind\": \"$kind\"}]}" >add.json
    exits 0 bench --runs 1 add.mlir
done
echo '{"inputs": [{"shape": [4], "kind": "abacus"}, {"shape": [2, 2], "kind": "const"}]}' >add.json
exits 3 bench --runs 1 add.mlir
says 'inputs[0]'
echo '{"inputs": [{"shape": [5], "kind": "const"}, {"shape": [2, 2], "kind": "const"}]}' >add.json
exits 3 bench --runs 1 add.mlir
echo '{"inputs": []}' >add.json
exits 3 bench --runs 1 add.mlir
says 'the recipe has 0 inputs, the program 2'
echo '{' >add.json
exits 3 bench --runs 1 add.mlir
says 'not JSON'
rm add.json

# A program that fails is a line of the table, and the others are run.
echo nonsense >bad.mlir
exits 1 bench --runs 1 bad.mlir add.mlir
says 'bad.mlir                         failed' add.mlir
exits 1 bench --runs 1 --json bad.mlir add.mlir
says '{"name":"bad.mlir","failed":true}'
exits 3 bench absent.mlir
exits 2 bench
exits 2 bench add.mlir --seconds soon

finish
