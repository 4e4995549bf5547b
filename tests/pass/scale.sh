#!/usr/bin/env bash
# scale.sh: time and memory of reading, the passes and printing grow in proportion to a program's size. tests/tools/many_ops.py
# makes programs of several shapes; one of ten times the size may take 13 times the memory and, for machines are noisy, 30 times
# the user time.
set -uo pipefail
HILO=$(realpath "${HILO:?the hilo command to test}")
cd "$(dirname "$0")/../.." || exit
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# passes FILE OPTION...: user milliseconds and peak kilobytes of hilo opt
passes() {
    python3 - "$HILO" "$@" <<'END'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "opt", *sys.argv[2:]], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(used.ru_utime * 1000), used.ru_maxrss)
END
}

# measure SHAPE N
measure() {
    python3 tests/tools/many_ops.py "$1" "$2" >"$scratch/program.mlir"
    passes "$scratch/program.mlir" -O3
}

for shape in chain outputs one_output calls functions concatenations loop; do
    read -r ms kb <<<"$(measure $shape 1000)"
    read -r ms10 kb10 <<<"$(measure $shape 10000)"
    if [ "${ms10:-}" ] && [ "$ms10" -le $((30 * (ms + 10))) ] && [ "$kb10" -le $((13 * kb)) ]; then
        passed=$((passed + 1))
    else
        echo "$shape: 1000 ops take ${ms:-?} ms and ${kb:-?} KB, 10000 take ${ms10:-?} ms and ${kb10:-?} KB"
        failed=$((failed + 1))
    fi
done
# Functions that call each other in a chain are no nested program: the inliner leaves one function.
python3 tests/tools/many_ops.py functions 20000 >"$scratch/program.mlir"
if out=$("$HILO" run "$scratch/program.mlir" --input 4xf32=0,0,0,0 2>&1) && [[ $out == *'[0.0, 0.0, 0.0, 0.0]'* ]]; then
    passed=$((passed + 1))
else
    echo "a chain of 20000 calls: $out"
    failed=$((failed + 1))
fi
# Large values of which each could begin a group that fails: rows and columns are sorted. Those that are tried are bounded.
python3 - >"$scratch/program.mlir" <<'END'
t, n = "tensor<1024x1024xf32>", 4000
print(f"func.func @main(%v0: {t}) -> ({t}, {t}) {{")
for i in range(n):
    print(f"  %v{i + 1} = stablehlo.tanh %v{i} : {t}")
for d in range(2):
    print(f"""  %s{d} = "stablehlo.sort"(%v{n}) ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}) {{dimension = {d} : i64}} : ({t}) -> {t}""")
print(f"  return %s0, %s1 : {t}, {t}\n}}")
END
read -r ms kb <<<"$(passes "$scratch/program.mlir" --passes strip-mine)"
if [ "${kb:-}" ] && [ "$kb" -lt 500000 ]; then
    passed=$((passed + 1))
else
    echo "4000 large values that no loop computes: strip-mine takes ${kb:-?} KB"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
