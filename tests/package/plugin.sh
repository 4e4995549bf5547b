#!/usr/bin/env bash
# plugin.sh PJRT_HILO.SO: the plugin shows one symbol, and finds all that it needs when it is loaded.
set -uo pipefail
so=$1
passed=0 failed=0
check() { # WHAT EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        printf '%s: expected "%s", found "%s"\n' "$1" "$2" "$3"
        failed=$((failed + 1))
    fi
}
exported=$(nm --extern-only --defined-only --dynamic --format=just-symbols "$so" | tr '\n' ' ')
check 'exported' 'GetPjrtApi ' "$exported"
check 'missing when loaded' '' "$(ldd -r "$so" 2>&1 | grep 'undefined symbol' || true)"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
