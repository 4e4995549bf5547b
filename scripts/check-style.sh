#!/usr/bin/env bash
# Checks what no reader should have to: files of at most 1,200 lines and 128 columns, no tabs in C,
# nothing left undone, no paths of somebody's machine, no names of files that are not there in the documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

# Every file that is, or would be, in the repository; in an unpacked archive, every file.
files() {
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . \( -path ./build -o -path ./.venv \) -prune -o -type f -printf '%P\n'
    fi | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}
mapfile -t text < <(files | xargs grep -lI '' | grep -v '^LICENSE$')
like() { printf '%s\n' "${text[@]}" | grep -E "$1"; }
mapfile -t c < <(like '\.([ch]|def)$')
mapfile -t pages < <(like '\.md$')
mapfile -t code < <(like '\.([ch]|sh|cmake|bash)$|(^|/)(CMakeLists.txt|Makefile|run)$')

passed=0 failed=0
rule() { # WHAT COMMAND...: the command prints what breaks the rule
    local what=$1 findings
    shift
    findings=$("$@" || true)
    if [ -z "$findings" ]; then
        passed=$((passed + 1))
    else
        while read -r finding; do echo "$what: ${finding:0:130}"; done <<<"$findings"
        failed=$((failed + 1))
    fi
}
long_files() { wc -l "${c[@]}" "${code[@]}" | awk '$1 > 1200 && $2 != "total" { print $2 }'; }

missing_files() { # that documentation names, or links to
    local page name
    for page in "${pages[@]}"; do
        grep -oE '(^|[^A-Za-z0-9_./-])(src|scripts|docs|include|cmake)/[A-Za-z0-9_./*-]*[A-Za-z0-9*]' "$page" |
            sed -E 's/^[^a-z]//' |
            while read -r name; do compgen -G "$name" >/dev/null || echo "$page: $name"; done
        grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/[)#]$//' |
            while read -r name; do [ -e "$(dirname "$page")/$name" ] || echo "$page: $name"; done
    done
}

rule 'over 1,200 lines' long_files
rule 'over 128 columns' grep -nE '^.{129}' "${code[@]}" # a row of a table (.def) is one line
rule 'tab' grep -nP '\t' "${c[@]}"
rule 'left undone' grep -nwE 'TOD[O]|FIXM[E]|XX[X]|HAC[K]' "${text[@]}"
rule 'no such file' missing_files
rule 'machine path' grep -nE '(^|[^A-Za-z0-9_.})])/(work|root|home|farm)/' "${text[@]}"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
