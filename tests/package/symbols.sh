#!/usr/bin/env bash
# symbols.sh LIBHILO.SO LIBHILO.A: what the libraries may show and touch.
set -uo pipefail
so=$1 archive=$2
cd "$(dirname "$0")/../.." || exit

passed=0 failed=0
none() { # WHAT: fails if there is a line on standard input
    local lines
    lines=$(cat)
    if [ -z "$lines" ]; then
        passed=$((passed + 1))
    else
        while read -r line; do echo "$1: $line"; done <<<"$lines"
        failed=$((failed + 1))
    fi
}

declared=$(awk '/^HILO_(FULL_)?API/ { on = 1 } on; /;/ { on = 0 }' include/hilo.h | grep -oE '\bhilo_[a-z0-9_]+ *\(' |
    tr -d ' (' | sort -u)
# But for the version itself, and the locks of OpenMP's critical sections, which a process shares.
exported() {
    nm --extern-only --defined-only --format=just-symbols "$@" | sed 's/@.*//' |
        grep -vE '^$|:$|^HILO_[0-9]+$|^\.gomp_critical' | sort -u
}
in_so=$(exported --dynamic "$so") in_archive=$(exported "$archive")

none 'declared in hilo.h, not exported' < <(comm -23 <(echo "$declared") <(echo "$in_so"))
none 'exported, not declared in hilo.h' < <(comm -13 <(echo "$declared") <(echo "$in_so"))
none 'exported by the archive alone' < <(comm -13 <(echo "$in_so") <(echo "$in_archive"))
none 'not in the archive' < <(comm -23 <(echo "$in_so") <(echo "$in_archive"))

# A library never prints and never ends the process.
forbidden='exit|_exit|quick_exit|abort'
forbidden+='|printf|vprintf|__printf_chk|__vprintf_chk|puts|putchar|perror|stdout|stderr'
none 'called by the library' < <(nm --undefined-only --format=just-symbols "$archive" |
    grep -xE "$forbidden")

# It has no state outside its clients: no writable data, but for what the loader relocates, those locks,
# and what a process has once: its processor, the libraries that were opened, leave to use the matrix unit.
once='llvm_state|blas_state|dnn_state|fftw_state|code_tiles|cpu_state|ucx_state|gpu_state|nvjitlink_state'
once=$once'|cublaslt_state|cufft_state|cublas_state|cusolver_state|cudnn_state'
none 'writable data' < <(objdump --syms "$archive" | awk -v once=" ($once)\$" -F '\t' '
    NF == 2 {
        words = split($1, left, " ")
        section = left[words]
        if (section != "*COM*" && section !~ /^\.t?(bss|data)/) next
        if (section ~ /^\.data\.rel\.ro/ || $2 ~ /^0+ / || $2 ~ / \.gomp_critical/ || $2 ~ once) next
        print section, $2
    }')

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
