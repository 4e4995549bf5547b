#!/usr/bin/env bash
# run-tests.sh [--long|--torture]: builds and runs the tests: release, under the sanitizers, then fuzzing.
# The last line is `N passed, N failed[, N skipped]` over everything; above it stand the commands
# that reproduce what failed. The short run fuzzes for a minute in all. The long one also takes the
# conformance material through the sanitizers and the torture build, adds ThreadSanitizer, and
# fuzzes every target for ten minutes. With --torture it is the torture build alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

cores=$(nproc)
jobs=${JOBS:-$cores}
passed=0 failed=0 skipped=0
reproduce=()

fail() { # COUNT COMMAND: failures, and what to type to see them again
    failed=$((failed + $1))
    reproduce+=("$2")
}

section() { printf '\n== %s\n' "$1"; }

build() { # PRESET TARGET...
    scripts/build.sh "$@" && return
    fail 1 "scripts/build.sh $*"
    return 1
}

# `ctest --verbose` prints lines `N: text` of test N, and a line with its result when it has ended.
# A test counts by its last `N passed, N failed` line, a cmocka program what its groups add
# up to; a test without such output counts as one.
ctests() { # PRESET CTEST-ARGUMENT...
    local dir=build line n name result
    [ "$1" = release ] || dir=build/$1
    shift
    local -A out=() p=() f=() s=()
    local counts='^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$'
    local group='^\[  (PASSED|FAILED|SKIPPED) +\] ([0-9]+) test\(s\)'
    local end='^ *[0-9]+/[0-9]+ Test +#([0-9]+): ([^ ]+) \.*[ *]*(.*[^ ]) +[0-9.]+ sec'
    while IFS= read -r line; do
        if [[ $line =~ ^([0-9]+):\ ?(.*) ]]; then
            n=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]}
            out[$n]+=$line$'\n'
            [[ $line != 'Test timeout computed to be'* ]] || out[$n]= # ctest's own lines end here
            if [[ $line =~ $counts ]]; then
                p[$n]=${BASH_REMATCH[1]} f[$n]=${BASH_REMATCH[2]} s[$n]=${BASH_REMATCH[4]:-0}
            elif [[ $line =~ $group ]]; then
                case ${BASH_REMATCH[1]} in
                PASSED) p[$n]=$((${p[$n]:-0} + BASH_REMATCH[2])) ;;
                FAILED) f[$n]=$((${f[$n]:-0} + BASH_REMATCH[2])) ;;
                SKIPPED) s[$n]=$((${s[$n]:-0} + BASH_REMATCH[2])) ;;
                esac
            fi
        elif [[ $line =~ $end ]]; then
            n=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]} result=${BASH_REMATCH[3]}
            if [ "$result" = Passed ]; then
                [ "$((${p[$n]:-0} + ${f[$n]:-0} + ${s[$n]:-0}))" != 0 ] || p[$n]=1
            elif [ "${f[$n]:-0}" = 0 ]; then
                f[$n]=1 # it crashed, or ran out of time, before it could count
            fi
            passed=$((passed + ${p[$n]:-0})) skipped=$((skipped + ${s[$n]:-0}))
            printf '%-28s %6d passed%s%s\n' "$name" "${p[$n]:-0}" \
                "$([ "${f[$n]:-0}" = 0 ] || printf ', %d failed' "${f[$n]}")" \
                "$([ "${s[$n]:-0}" = 0 ] || printf ', %d skipped' "${s[$n]}")"
            grep '^ *skipped: ' <<<"${out[$n]:-}" | head -n 3 | cut -c 1-160 | sed 's/^ */    /'
            if [ "${f[$n]:-0}" != 0 ]; then
                tail -n 50 <<<"${out[$n]:-}" | sed 's/^/    /'
                echo "    $result"
                fail "${f[$n]}" "ctest --test-dir $dir -R '^$name\$' --output-on-failure"
            fi
            unset "out[$n]"
        fi
    done < <(ctest --test-dir "$dir" --verbose --parallel "$jobs" "$@" 2>&1)
}

fuzz_one() { # PRESET TARGET SECONDS: 0 when nothing was found
    local dir=build/$1 target=$2 seconds=$3 corpus=build/fuzz/corpus/$2 log=build/$1/$2.log runs
    local seeds=(tests)
    [ ! -d ../shared/conformance ] || [ -z "$long" ] || seeds+=(../shared/conformance)
    [ "$target" != fuzz_graph ] || seeds=() # it makes programs of choices, and no text is one of those
    mkdir -p "$corpus"
    if "$dir/tests/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -print_final_stats=1 -artifact_prefix="$dir/$target-" \
        "$corpus" ${seeds[@]+"${seeds[@]}"} >"$log" 2>&1 </dev/null; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        printf '%-28s %6d passed   (%d inputs in %d s)\n' "$target" 1 "$runs" "$seconds"
    else
        grep -vE '^#[0-9]+' "$log" | tail -n 50 | sed 's/^/    /'
        return 1
    fi
}

fuzz() { # PRESET SECONDS PARALLEL: every target for SECONDS, PARALLEL at a time
    local preset=$1 seconds=$2 parallel=$3 target artifact pids=() names=() i
    while read -r target; do names+=("$(basename "$target" .c)"); done < <(ls tests/fuzz/fuzz_*.c)
    if ! scripts/setup.sh has libfuzzer; then
        echo 'no clang with libFuzzer: the fuzz targets are skipped'
        skipped=$((skipped + ${#names[@]}))
        return
    fi
    build "$preset" hilo_tests || return
    [ "$seconds" != share ] || seconds=$((60 * parallel / ${#names[@]}))
    for ((i = 0; i < ${#names[@]}; i += parallel)); do
        pids=()
        for target in "${names[@]:i:parallel}"; do
            fuzz_one "$preset" "$target" "$seconds" &
            pids+=("$target:$!")
        done
        for target in "${pids[@]}"; do
            if wait "${target#*:}"; then
                passed=$((passed + 1))
                continue
            fi
            target=${target%:*}
            artifact=$(sed -n 's/.*Test unit written to //p' "build/$preset/$target.log" | head -n 1)
            fail 1 "build/$preset/tests/$target $artifact"
        done
    done
}

long= torture=
[ "${1:-}" != --long ] || long=yes
[ "${1:-}" != --torture ] || torture=yes
[ -z "$long" ] || export HILO_TEST_LONG=yes # tests that have more to do then

if [ -z "$torture" ]; then
    section 'release'
    build release all hilo_tests && ctests release

    section 'AddressSanitizer and UndefinedBehaviorSanitizer'
    conformance=(--label-exclude conformance)
    [ -z "$long" ] || conformance=()
    build asan hilo_tests && ctests asan "${conformance[@]}"
fi

if [ -n "$long" ]; then
    section 'ThreadSanitizer'
    build tsan hilo_tests && ctests tsan --label-exclude conformance
fi
if [ -n "$long$torture" ]; then
    section 'torture'
    build torture hilo_tests && ctests torture
fi

if [ -z "$torture" ] && compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null; then
    section 'fuzzing'
    if [ -n "$long" ]; then fuzz fuzz 600 "$jobs"; else fuzz fuzz-quick share "$jobs"; fi
fi

echo
if [ "$failed" != 0 ]; then
    echo 'to reproduce what failed:'
    printf '    %s\n' "${reproduce[@]}"
fi
if [ "$skipped" = 0 ]; then
    echo "$passed passed, $failed failed"
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" = 0 ]
