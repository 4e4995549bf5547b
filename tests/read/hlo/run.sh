#!/usr/bin/env bash
# run.sh [FILE...]: HLO text. The first comments of a file define its test:
#
#   // run: ARGUMENTS    hilo run, at -O0 and -O2, prints the lines `// > …` that follow
#   // opt: ARGUMENTS    hilo opt prints text with these lines `// > …` in it
#   // fused:            hilo opt -O2 --emit hlo likewise
#
# Every file prints as MLIR that prints as itself, and is written as HLO text that means the same. UPDATE=1 writes what `run:`
# prints.
set -uo pipefail
HILO=$(realpath "${HILO:?the hilo command to test}")
cd "$(dirname "$0")/../../.." || exit
[ $# != 0 ] || set -- tests/read/hlo/*.hlo
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

passed=0 failed=0
: >"$scratch/log"
check() { # WHAT EXPECTED ACTUAL: files
    if cmp -s "$2" "$3"; then
        passed=$((passed + 1))
    else
        echo "$1:"
        diff "$2" "$3" | head -20
        head -5 "$scratch/log"
        failed=$((failed + 1))
    fi
}

# section FILE NAME: the lines `// > …` after `// NAME:`
section() { awk -v name="// $2:" '
    index($0, "// ") != 1 { exit }
    index($0, "// >") == 1 { if (on) print substr($0, 6); next }
    { on = index($0, name) == 1 }' "$1"; }

prints() { # FILE SECTION COMMAND...: what hilo prints has the lines of the section
    section "$1" "$2" >"$scratch/expected"
    [ -s "$scratch/expected" ] && "$HILO" "${@:3}" "$1" >"$scratch/out" 2>&1
    while IFS= read -r line; do
        if grep -qF -e "$line" "$scratch/out"; then passed=$((passed + 1)); else
            echo "$1: hilo ${*:3} prints no '$line'"
            failed=$((failed + 1))
        fi
    done <"$scratch/expected"
}

update() { # FILE: what hilo prints becomes what is expected
    awk -v out="$scratch/out" '
        index($0, "// >") == 1 && on { next }
        { on = index($0, "// run:") == 1; print }
        on { while ((getline line <out) > 0) print "// > " line }' "$1" >"$scratch/new" && cp "$scratch/new" "$1"
}

for file; do
    if grep -q '^// run:' "$file"; then
        read -ra arguments <<<"$(sed -n 's|^// run:||p' "$file")"
        if [ -n "${UPDATE:-}" ]; then
            "$HILO" run "$file" -O0 "${arguments[@]}" >"$scratch/out" && update "$file"
        fi
        section "$file" run >"$scratch/expected"
        for level in 0 2; do
            "$HILO" run "$file" -O$level "${arguments[@]}" >"$scratch/out" 2>"$scratch/log"
            check "$file, run at -O$level" "$scratch/expected" "$scratch/out"
        done
        "$HILO" opt --emit hlo -o "$scratch/written.hlo" "$file" 2>"$scratch/out" &&
            "$HILO" run "$scratch/written.hlo" "${arguments[@]}" >"$scratch/out" 2>"$scratch/log"
        check "$file, written and run" "$scratch/expected" "$scratch/out"
        "$HILO" opt -O2 --emit hlo -o "$scratch/written.hlo" "$file" 2>"$scratch/out" &&
            "$HILO" run "$scratch/written.hlo" "${arguments[@]}" >"$scratch/out" 2>"$scratch/log"
        check "$file, with its kernels as fusions" "$scratch/expected" "$scratch/out"
    fi
    read -ra arguments <<<"$(sed -n 's|^// opt:||p' "$file")"
    prints "$file" opt opt "${arguments[@]}"
    prints "$file" fused opt -O2 --emit hlo
    "$HILO" opt --locations "$file" >"$scratch/1.mlir" 2>"$scratch/err"
    "$HILO" opt --locations "$scratch/1.mlir" >"$scratch/2.mlir" 2>>"$scratch/err"
    check "$file, printed and read" "$scratch/1.mlir" "$scratch/2.mlir"
    if "$HILO" opt --emit hlo -o "$scratch/1.hlo" "$file" 2>>"$scratch/err" &&
        "$HILO" opt --emit hlo -o "$scratch/2.hlo" "$scratch/1.hlo" 2>>"$scratch/err"; then
        passed=$((passed + 1))
    else
        echo "$file: what hilo opt --emit hlo writes does not read"
        failed=$((failed + 1))
    fi
    cat "$scratch/err"
done
many=200000 long=600000
[ ! "${HILO_TORTURED:-}" ] || many=2000 long=6000 # where arrays grow by one element
# Reading takes time by length, of many parameters, parts of tuples and aliases too.
awk -v n=$many 'function list(name, i) { for (i = 0; i < n; i++) printf "%s%s%d", i ? ", " : "", name, i }
    function shape(i) { for (i = 0; i < n; i++) printf "%sf32[]", i ? ", " : "" }
    BEGIN {
        printf "HloModule many, input_output_alias={ "
        for (i = 0; i < n; i++) printf "%s{%d}: (%d, {}, may-alias)", i ? ", " : "", i, i
        print " }\n\nENTRY main {"
        for (i = 0; i < n; i++) print "  p" i " = f32[] parameter(" i ")"
        printf "  t = ("; shape(); printf ") tuple("; list("p"); print ")"
        for (i = 0; i < n; i++) print "  g" i " = f32[] get-tuple-element(t), index=" i
        printf "  ROOT r = ("; shape(); printf ") tuple("; list("g"); print ")\n}"
    }' >"$scratch/many.hlo"
timeout 20 "$HILO" opt "$scratch/many.hlo" >/dev/null 2>&1
echo $? >"$scratch/out"
echo 0 >"$scratch/expected"
check "a program of $many parameters, read" "$scratch/expected" "$scratch/out"
# Only copies of computations are limited, not the length of a program.
awk -v n=$long 'BEGIN {
        print "HloModule chain\n\nENTRY main {\n  a0 = f32[4] parameter(0)"
        for (i = 1; i <= n; i++) print "  a" i " = f32[4] add(a" i - 1 ", a0)"
        print "}"
    }' >"$scratch/chain.hlo"
timeout 60 "$HILO" opt "$scratch/chain.hlo" 2>"$scratch/log" | grep -c stablehlo.add >"$scratch/out"
echo $long >"$scratch/expected"
check "a program of $long instructions, read" "$scratch/expected" "$scratch/out"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
