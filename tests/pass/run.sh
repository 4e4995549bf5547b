#!/usr/bin/env bash
# run.sh [FILE...]: what each pass makes of programs. A file, PASS.mlir, has pairs of parts between lines that begin with
# `// -----`: a program, and after `// ----- expected` what it becomes by `hilo opt --passes=PASS`, or by other options on a
# line `// RUN: OPTIONS` of the program. Both are compared as hilo prints them. Every part is also a case for `hilo check`, at
# -O0 and at -O2, so what it computes is checked too. UPDATE=1 writes the expected parts anew.
set -uo pipefail
HILO=$(realpath "${HILO:?the hilo command to test}")
cd "$(dirname "$0")/../.." || exit
[ $# -gt 0 ] || set -- tests/pass/*.mlir
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

for file; do
    rm -f "$scratch"/*
    awk -v out="$scratch/001.mlir" 'BEGIN { n = 1 }
        /^\/\/ ----- expected/ { out = substr(out, 1, length(out) - 4) "want"; next }
        /^\/\/ -----/ { sub(/...\.[a-z]+$/, sprintf("%03d.mlir", ++n), out); next }
        { print > out }' "$file"
    for program in "$scratch"/*.mlir; do
        part=${program%.mlir}
        mapfile -t options < <(sed -n 's|^// RUN: ||p' "$program" | xargs -rn 1)
        [ ${#options[@]} -gt 0 ] || options=("--passes=$(basename "$file" .mlir)")
        "$HILO" opt "${options[@]}" "$program" >"$part.got" 2>"$part.err" || cat "$part.err"
        if [ -n "${UPDATE:-}" ]; then
            { cat "$program" && echo '// ----- expected' && cat "$part.got"; } >"$part.new"
        elif diff -u <("$HILO" opt "$part.want") "$part.got"; then
            passed=$((passed + 1))
        else
            echo "$file: part $((10#${part##*/})): hilo opt ${options[*]}: not as expected"
            failed=$((failed + 1))
        fi
    done
    [ -z "${UPDATE:-}" ] || awk 'FNR == 1 && NR > 1 { print "// -----" } 1' "$scratch"/*.new >"$file"
done

for level in 0 2; do
    out=$("$HILO" check -O$level "$@" 2>&1)
    printf '%s\n' "$out" | sed '$d'
    [[ ${out##*$'\n'} =~ ^([0-9]+)' passed, '([0-9]+)' failed' ]] || { echo "$out"; exit 1; }
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
