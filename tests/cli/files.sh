#!/bin/sh
# Files that are written are complete or as they were before; what is no regular file neither hangs nor exhausts memory.
. "$(dirname "$0")/common.inc"

cat >big.mlir <<'MLIR'
func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
  %0 = stablehlo.exponential %x : tensor<512xf32>
  return %0 : tensor<512xf32>
}
MLIR
model=$root/tests/llm/tiny-llama

# full COMMAND...: where files cannot grow, the command fails, names the reason and leaves the old file as it was.
full() {
    echo before >before
    cp before "out$suffix"
    (trap '' XFSZ && ulimit -f 0 && "$HILO" "$@" 2>&1 >/dev/null </dev/null; echo "status $?") | cat >err
    if grep -q '^status 3$' err && grep -q "out$suffix.*: File too large" err; then
        pass
    else
        fail "hilo $*: status 3, and why"
    fi
    if cmp -s before "out$suffix"; then pass; else fail "hilo $*: the old file expected"; fi
    if ls | grep -q 'out.*tmp'; then fail "hilo $*: a temporary file was left"; else pass; fi
}
status=0
: >out
for case in 'run big.mlir --input random:1 -o out.npy' 'run big.mlir --input random:1 -o out.npz' \
    'run big.mlir --input random:1 --timing 20 --trace out.json' 'compile big.mlir -o out.hilo' \
    'compile big.mlir --emit plan -o out.plan' 'compile big.mlir --emit kir -o out.kir' 'explain big.mlir -o out.html' \
    'opt big.mlir --emit bytecode -o out.bc' 'opt big.mlir --generic --locations -o out.mlir' \
    "emit -m $model -o out.mlir" "emit -m $model -o out.bc"; do
    suffix=.${case##*.}
    # shellcheck disable=SC2086
    full $case
done

# A symbolic link stays one; a file's mode is kept; a link under a guessable temporary name is not followed.
echo old >target.npy
chmod 600 target.npy
ln -s target.npy link.npy
echo precious >precious
ln -s precious link.npy.tmp
ln -s precious target.npy.tmp
exits 0 run big.mlir --input random:1 -o link.npy
if [ -L link.npy ] && head -c 6 target.npy | grep -aq NUMPY; then pass; else fail 'the target of a symbolic link is written'; fi
if [ "$(stat -c %a target.npy)" = 600 ]; then pass; else fail 'the mode of a file is kept'; fi
if [ "$(cat precious)" = precious ]; then pass; else fail 'a symbolic link was followed'; fi

# Pipes and devices are written directly.
"$HILO" compile big.mlir --emit plan -o /dev/stdout 2>err | cat >out
says 'plan of 1 arg'

mkfifo pipe
cat pipe >got &
exits 0 compile big.mlir --emit plan -o pipe
wait
if [ -p pipe ] && grep -q 'plan of 1 arg' got; then pass; else fail 'a pipe is written to, and not replaced'; fi

# A FIFO in place of a file is refused, and does not wait for a writer; a device without an end is bounded.
mkfifo fifo.npy
exits 3 run big.mlir --input fifo.npy
says 'regular file'
mkdir cache && mkfifo cache/calibration
HILO_CACHE_DIR=$dir/cache exits 1 calibrate --show
exits 3 run /dev/zero
says 'not a regular file'
finish
