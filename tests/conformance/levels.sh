#!/usr/bin/env bash
# levels.sh [FOLDER...]: checks the programs of tests/op, tests/regress and the conformance material, or of these folders,
# at every level of optimisation with 1 thread and with 3, and compares what passes with the evaluator. The material is
# next to the project, in ../shared or where HILO_SHARED points; where it is absent it counts as skipped. HILO_CHECK holds
# further options of hilo check, LEVELS and THREADS what is tried. The programs compute with constants, which the evaluator
# folds; so each level but 0 is also tried with constants as arguments, by machine code and by the kernel interpreter. How
# many ops kernels computed is printed; a level at which they computed none fails.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
HILO=$(realpath -e "${HILO:-build/hilo}") || exit # a command that is not there is no success
shared=${HILO_SHARED:-../shared}
read -ra levels <<<"${LEVELS:-0 1 2 3}"
read -ra threads <<<"${THREADS:-1 3}"
read -ra options <<<"${HILO_CHECK:-}"
passed=0 failed=0 skipped=0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# check NAME OPTION...: leaves the cases that fail in $scratch/NAME, and the totals in `totals`.
check() {
    local name=$1
    shift
    "$HILO" check "${options[@]}" "$@" "${files[@]}" >"$scratch/out" 2>&1
    totals=$(tail -n 1 "$scratch/out")
    [[ $totals =~ ^[0-9]+' passed, '[0-9]+' failed' ]] || totals="no totals: $totals"
    counts=$(grep '^ops computed by kernels: ' "$scratch/out")
    sed '$d; s/:[0-9]*: .*//; s/ (hilo check.*//' "$scratch/out" | sort -u >"$scratch/$name"
}

# compare OPTION...: the same totals as the evaluator's?
compare() {
    check got "$@"
    [ -z "$counts" ] || echo "$folder: $*: $totals; $counts"
    if [ "$totals" = "$expected" ] && [[ $counts != *kernels:' 0,'* ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$folder: $*: $totals"
        comm -13 "$scratch/reference" "$scratch/got" | sed 's/^/  /' | head -n 40
    fi
}

[ $# -gt 0 ] || set -- tests/op "$shared"/conformance/{interpret,testdata,math,invalid,valid}
for folder; do
    shopt -s nullglob
    files=("$folder"/*.mlir)
    if [ ${#files[@]} = 0 ]; then
        [ -d "$folder" ] || { echo "skipped: $folder is not there"; skipped=$((skipped + 1)); }
        continue
    fi
    check reference --backend reference
    expected=$totals
    echo "$folder: evaluator: $expected"
    for level in "${levels[@]}"; do
        for n in "${threads[@]}"; do
            compare "-O$level" --threads "$n"
            [ "$level" = 0 ] || compare "-O$level" --threads "$n" --arguments
        done
        [ "$level" = 0 ] || compare "-O$level" --arguments --backend interpreter
    done
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
