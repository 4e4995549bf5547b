#!/usr/bin/env bash
# test-jax.sh [--compare] [--processes N] PATH [FILE...]: runs JAX's own tests on hilo. PATH is a checkout of jax-ml/jax at the
# tag of the installed JAX; FILE names its tests (lax_test), by default those of the array operations. Each file is a process
# of its own, with as many devices as it requires; those that do not say have $HILO_NUM_DEVICES, 1 by default. Needs JAX,
# pytest and absl-py, in the environment of $HILO_PYTHON, in .venv, or python3's. $JAX_NUM_GENERATED_CASES, 1 by default, is
# how many cases JAX draws for each of its generated tests. $JAX_PLATFORMS: hilo, or hilo_gpu with HILO_CUDA_PATH where there
# is no GPU. With --compare they run on $HILO_JAX_PEER, too, by default XLA's CPU, and the last lines say how many of those
# that pass there pass here. $HILO_SAMPLE, such as 2/8, takes a part of the tests (tests/jax/outcomes.py). With --processes,
# FILE names a test of tests/multiprocess, by default all of them, and each runs as N processes on this machine, with
# $HILO_NUM_DEVICES each.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
root=$PWD
compare='' processes=''
[ "${1:-}" != --compare ] || { compare=1; shift; }
[ "${1:-}" != --processes ] || { processes=$2; shift 2; }
jax=${1:?usage: test-jax.sh [--compare] [--processes N] PATH [FILE...]}
shift
python=${HILO_PYTHON:-python3}
[ -n "${HILO_PYTHON:-}" ] || [ ! -x .venv/bin/python ] || python=$root/.venv/bin/python
if ! "$python" -c 'import absl, jax, pytest' 2>/dev/null; then
    echo 'no JAX, pytest and absl-py: its tests are skipped'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
files=("$@")
# These skip most of their tests on platforms that they do not know: they take hilo for the CPU.
as_cpu=' python_callback_test buffer_callback_test ffi_test linalg_sharding_test memories_test layout_test '
[ $# != 0 ] || files=(lax_test lax_numpy_test lax_control_flow_test lax_autodiff_test lax_scipy_test linalg_test
    random_lax_test nn_test fft_test array_test api_test export_test jax_jit_test transfer_guard_test $as_cpu)

export HILO_PJRT_PLUGIN=${HILO_PJRT_PLUGIN:-$root/build/pjrt_hilo.so}
export JAX_PLATFORMS=${JAX_PLATFORMS:-hilo} JAX_NUM_GENERATED_CASES=${JAX_NUM_GENERATED_CASES:-1}
# The plugin as an installed package would bring it: a module of the namespace jax_plugins.
site=$root/build/jax-site
mkdir -p "$site/jax_plugins"
echo 'from jax_hilo import initialize  # noqa: F401' >"$site/jax_plugins/hilo.py"
export PYTHONPATH=$site:$root/python:$root/tests/jax${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1

unsaid=${HILO_NUM_DEVICES:-1}
passed=0 failed=0 skipped=0
count() { # WORD LOG: the number before that word in pytest's summary
    grep -E '^[0-9].* in [0-9.]+s' "$2" | tail -n 1 | sed -nE "s/^(.*[^0-9])?([0-9]+) $1.*/\2/p"
}
outcomes=$root/build/jax-outcomes
mkdir -p build/jax-logs "$outcomes/hilo" "$outcomes/cpu"
rm -f "$outcomes"/*/*.tsv
cd "$jax" || exit
if [ -n "$processes" ]; then
    # XLA's CPU is there, too, because device_id_test compares with it.
    export JAX_PLATFORMS=$JAX_PLATFORMS,cpu HILO_NUM_DEVICES=$unsaid
    [ $# != 0 ] || mapfile -t files < <(basename -s .py tests/multiprocess/*_test.py)
    for file in "${files[@]}"; do
        export TEST_UNDECLARED_OUTPUTS_DIR=$root/build/jax-logs/$file
        mkdir -p "$TEST_UNDECLARED_OUTPUTS_DIR"
        rm -f "$TEST_UNDECLARED_OUTPUTS_DIR"/*
        timeout -k 10 "${HILO_JAX_TIMEOUT:-3600}" "$python" "tests/multiprocess/$file.py" --num_processes="$processes" \
            --initialization_timeout=60 --heartbeat_timeout=60 >"$root/build/jax-logs/$file.log" 2>&1
        # A test is failed where one process fails it, and skipped where the first skips it.
        said=$TEST_UNDECLARED_OUTPUTS_DIR first=$TEST_UNDECLARED_OUTPUTS_DIR/jax_0_stderr.log
        mapfile -t failing < <(sed -nE 's/^(FAIL|ERROR): (test[^ ]*) .*/\2/p' "$said"/*_stderr.log | sort -u)
        ran=$(sed -nE 's/^Ran ([0-9]+) tests? in .*/\1/p' "$first")
        s=$(sed -nE 's/^(OK|FAILED) .*skipped=([0-9]+).*/\2/p' "$first")
        f=${#failing[@]}
        [ -n "$ran" ] || { ran=1 f=1 failing=("$file does not end: $first"); }
        printf '%-28s %6d passed, %d failed, %d skipped\n' "$file" $((ran - f - ${s:-0})) "$f" "${s:-0}"
        [ "$f" = 0 ] || printf '    %s\n' "${failing[@]}"
        passed=$((passed + ran - f - ${s:-0})) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
    done
    files=()
fi
for file in "${files[@]}"; do
    log=$root/build/jax-logs/$file.log
    devices=$(sed -nE 's/^jtu\.request_cpu_devices\(([0-9]+)\).*/\1/p' "tests/$file.py")
    export HILO_NUM_DEVICES=${devices:-$unsaid}
    plugins=(-p known_failures)
    [[ $as_cpu != *" $file "* ]] || plugins+=(-p as_cpu)
    if [ -n "$compare" ]; then
        for platform in "$JAX_PLATFORMS" "${HILO_JAX_PEER:=cpu}"; do
            take=() side=hilo
            [ "$platform" = "$JAX_PLATFORMS" ] || side=cpu
            [ "$platform" = cpu ] || [[ $as_cpu != *" $file "* ]] || take=(-p as_cpu)
            JAX_PLATFORMS=$platform HILO_OUTCOMES=$outcomes/$side/$file.tsv timeout -k 10 "${HILO_JAX_TIMEOUT:-3600}" \
                "$python" -m pytest -q -p outcomes "${take[@]}" --tb=short -p no:cacheprovider "tests/$file.py" >"$log" 2>&1
        done
        continue
    fi
    timeout -k 10 "${HILO_JAX_TIMEOUT:-3600}" "$python" -m pytest -q -rfEX "${plugins[@]}" --tb=short \
        "tests/$file.py" >"$log" 2>&1
    status=$?
    p=$(count passed "$log") f=$(count failed "$log") s=$(count skipped "$log") x=$(count xfailed "$log")
    [ "$status" -le 1 ] || f=$((${f:-0} + 1)) # it crashed, or ran out of time
    printf '%-28s %6d passed, %d failed, %d skipped, %d known\n' "$file" "${p:-0}" "${f:-0}" "${s:-0}" "${x:-0}"
    grep -E '^(FAILED|ERROR|XPASS) ' "$log" | cut -c 1-160 | sed 's/^/    /'
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0} + ${x:-0}))
done
[ -z "$compare" ] || exec "$python" "$root/tests/jax/outcomes.py" "$outcomes/hilo" "$outcomes/cpu"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
