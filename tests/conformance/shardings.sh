#!/usr/bin/env bash
# shardings.sh DIRECTORY...: the values of programs, divided by random shardings over random meshes of 2, 6 and 8 devices, must
# be those of one device: evaluated, and compiled.
set -uo pipefail
HILO=$(realpath "${HILO:?the hilo command to test}")
cd "$(dirname "$0")/../.." || exit
passed=0 failed=0
check() {
    out=$("$HILO" check "$@" 2>&1)
    printf '%s\n' "$out" | sed '$d'
    [[ ${out##*$'\n'} =~ ^([0-9]+)' passed, '([0-9]+)' failed' ]] || { echo "$out"; exit 1; }
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
}
for dir; do
    check --shardings 8 --seed 1 --backend reference "$dir"
    check --shardings 8 --seed 2 --backend reference "$dir"
    check --shardings 6 --seed 2 --backend reference "$dir"
    check --shardings 2 --seed 3 "$dir"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
