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
says '[{"name":"add.mlir","median_ms":' '"min_ms":' '"runs":2' '"compile_ms":' '"first_ms":' '"peak_bytes":'
exits 0 bench --runs 9 --csv add.mlir --save before.json -o page.html
says 'name,median_ms,min_ms,mean_ms,deviation_ms,p95_ms,p99_ms,runs,compile_ms,first_ms,peak_bytes' '"add.mlir",' ',9,'
grep -q '^{"programs":\[{"name":"add.mlir","median_ms":' before.json && pass || fail 'figures are not saved'
grep -q '<polyline' page.html && grep -q '</html>' page.html && ! grep -q 'https*:' page.html && pass ||
    fail 'no page with plots'

# The ratio is that of the medians, and a program that was not measured before has none.
cp add.mlir other.mlir
exits 0 bench --runs 3 --compare before.json add.mlir other.mlir -o page.html
says 'before ms' '1 programs: ' 'times as fast as before'
grep -q 'stroke="#c33"' page.html && pass || fail 'the page does not show the median before'
echo '{"programs": [{"name": "add.mlir", "median_ms": 1000000}]}' >before.json
exits 0 bench --runs 3 --json --compare before.json add.mlir
says '"before_ms":1000000.000000,"ratio":'
if command -v python3 >/dev/null; then
    cat >check.py <<'PY'
import json, math, sys
(r,) = json.load(open(sys.argv[1]))
assert math.isclose(r["ratio"], r["before_ms"] / r["median_ms"], rel_tol=1e-2), r
assert r["min_ms"] <= r["median_ms"] <= r["p95_ms"] <= r["p99_ms"] and r["min_ms"] <= r["mean_ms"] and r["deviation_ms"] >= 0
PY
    python3 check.py out && pass || fail 'figures contradict each other'
fi
cp add.mlir '<b>.mlir'
exits 0 bench --runs 1 '<b>.mlir' -o page.html
! grep -q '<b>' page.html && grep -q '&#60;b&#62;.mlir' page.html && pass || fail 'names are not escaped'
exits 2 bench --json --csv add.mlir
exits 3 bench --compare absent.json add.mlir
echo '{"programs": 3}' >before.json
exits 3 bench --compare before.json add.mlir
echo '{}' >before.json
exits 3 bench --compare before.json add.mlir
says '--save writes such a file'
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
