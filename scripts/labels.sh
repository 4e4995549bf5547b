#!/usr/bin/env bash
# labels.sh: the constraints of the specification that the verifier reports, `<op>_c<n>`, each with
# the tests of it: files in tests/verify, and test_verify.c for what no text can say. Fails when one
# has none.
#
# A label is written out where it is reported; or it is "_c<n>" in a function that rules share, and
# then means that constraint of every op whose rule comes there; or it is C(n) in a row of attrs.def.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

labels() {
    awk '
        FILENAME ~ /ops\.def/ {
            if (match($0, /"stablehlo\.[a-z0-9_-]+"/)) {
                name = substr($0, RSTART + 11, RLENGTH - 12)
                sub(/ *\/\*.*/, "")
                n = split($0, field, /, */)
                id = field[1]; sub(/^OP\(/, "", id)
                names[id] = name
                rule = field[n - 4]
                ops[rule] = ops[rule] " " name
            }
            next
        }
        FILENAME ~ /attrs\.def/ {
            if (match($0, /C\([0-9]+\),/)) {
                number = substr($0, RSTART + 2, RLENGTH - 4)
                split($0, field, /[(,]/)
                if (field[2] in names) print names[field[2]] "_c" number
            }
            next
        }
        /^[a-z].*\(/ && !/;$/ { # a function begins
            func_name = $0
            sub(/\(.*/, "", func_name)
            sub(/.*[ *]/, "", func_name)
        }
        /^}/ { func_name = "" }
        {
            rest = $0
            while (match(rest, /"[a-z0-9_]*_c[0-9]+"/)) {
                label = substr(rest, RSTART + 1, RLENGTH - 2)
                rest = substr(rest, RSTART + RLENGTH)
                if (label ~ /^_/) shared[func_name] = shared[func_name] " " label
                else print label
            }
            rest = $0
            while (func_name && match(rest, /[a-z0-9_]+\(/)) {
                calls[func_name] = calls[func_name] " " substr(rest, RSTART, RLENGTH - 1)
                rest = substr(rest, RSTART + RLENGTH)
            }
        }
        function reach(name,    list, n, i) { # of the rule `rule`
            if (seen[rule, name]++) return
            n = split(shared[name], list, " ")
            for (i = 1; i <= n; i++) found[list[i]] = 1
            n = split(calls[name], list, " ")
            for (i = 1; i <= n; i++) reach(list[i])
        }
        END {
            for (rule in ops) {
                split("", found)
                reach("shape_" rule)
                n = split(ops[rule], list, " ")
                for (label in found) for (i = 1; i <= n; i++) print list[i] label
            }
        }' src/ir/ops.def src/ir/attrs.def src/ir/rules/*.c src/ir/check_struct.c src/ir/verify.c | sort -uV
}

all=0 untested=0
while read -r label; do
    tests=$(grep -lF -e "expected-error@+1 {{[$label]" -e "\"$label\"" tests/verify/*.mlir \
        tests/ir/test_verify.c | tr '\n' ' ' || true)
    all=$((all + 1))
    [ -n "$tests" ] || untested=$((untested + 1))
    printf '%-32s %s\n' "$label" "${tests:-NO TEST}"
done < <(labels)
echo "$((all - untested)) passed, $untested failed"
[ "$untested" = 0 ]
