#!/usr/bin/env bash
# op-tests.sh: every op of the table that has an evaluator has a test, tests/op/<mnemonic>.mlir. A
# file that also tests other ops names them in its leading comment: `// Also: <mnemonic> ...`.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

# The mnemonics of the ops that are evaluated. A file's name has _ where a mnemonic has -.
ops() {
    awk -F '"' '/^OP\([A-Z0-9_]+, "/ && $NF !~ /, none, [A-Z]/ {
        sub(/^[a-z]+\./, "", $2)
        gsub(/-/, "_", $2)
        print $2
    }' src/ir/ops.def | sort -u
}
tested() {
    for file in tests/op/*.mlir; do basename "$file" .mlir; done
    awk 'FNR == 1 { head = 1 }
         !/^\/\// { head = 0 }
         head && sub(/^\/\/ Also: */, "") { for (i = 1; i <= NF; i++) print $i }' tests/op/*.mlir
}

missing=$(comm -23 <(ops) <(tested | sort -u))
for op in $missing; do echo "src/ir/ops.def: no tests/op/$op.mlir"; done
total=$(ops | wc -l) failed=$(wc -w <<<"$missing")
echo "$((total - failed)) passed, $failed failed"
[ "$failed" = 0 ]
