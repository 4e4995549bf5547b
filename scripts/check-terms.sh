#!/usr/bin/env bash
# Checks that no retired term of scripts/retired-terms.txt is in the tree: prints FILE:LINE, the term and what to say instead.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

list=scripts/retired-terms.txt
mapfile -t files < <(
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . \( -path ./build -o -path ./.venv \) -prune -o -type f -printf '%P\n'
    fi | while read -r file; do [ ! -f "$file" ] || echo "$file"; done | grep -vx "$list" | xargs -d '\n' grep -lI ''
)

passed=0 failed=0
while IFS=$'\t' read -r term instead; do
    [[ $term != '#'* && -n $term ]] || continue
    if found=$(grep -nE -- "$term" "${files[@]}"); then
        sed -E 's/^([^:]*:[0-9]*):.*/\1/' <<<"$found" | sed "s|\$|: /${term//|/\\|}/ is retired: $instead|"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done <"$list"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
