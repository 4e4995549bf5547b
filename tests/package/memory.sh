#!/usr/bin/env bash
# memory.sh: what `hilo generate` has in memory at most: the weights as they are stored, keys and values, and 200 MB.
set -uo pipefail
: "${HILO:?the hilo command to test}"
hilo=$(realpath "$HILO")
root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
export HILO_CACHE_DIR=$work/cache
passed=0 failed=0
layers=8 hidden=1024 heads=16 kv_heads=4 context=256

# From a process that has a gigabyte itself, which is not the program's.
run() {
    python3 -c 'import subprocess, sys; held = b"x" * 10**9; subprocess.run(sys.argv[1:])' "$hilo" "$@"
}

# Twice: the compiler is at work in the first start.
start() { # MODEL
    local weights cache limit peak nth
    weights=$(stat -c %s "$1/model.safetensors")
    cache=$((2 * 2 * layers * kv_heads * hidden / heads * context))
    limit=$((weights + cache + 200000000))
    for nth in first second; do
        peak=$(run generate -m "$1" --raw -p 'once upon a time' -n 4 --context $context --json |
            sed -nE 's/.*"peak_bytes":([0-9]+).*/\1/p')
        if [ "${peak:-0}" -gt "$weights" ] && [ "$peak" -le "$limit" ]; then
            passed=$((passed + 1))
        else
            echo "failed: $1, $nth start: at most ${peak:-?} bytes, of $limit"
            failed=$((failed + 1))
        fi
    done
}

python3 "$root/bench/make_llama.py" bf16 --layers $layers --hidden $hidden --ffn 8192 --heads $heads --kv-heads $kv_heads \
    --vocab 8192 >/dev/null || exit
"$hilo" quantize bf16 -o int4 --int4 2>/dev/null || exit
start bf16
start int4
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
