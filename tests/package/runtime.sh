#!/usr/bin/env bash
# runtime.sh LIBHILO-RUNTIME.SO: a .hilo file gives the same bits in a process that has the runtime-only library
# and no compiler.
set -uo pipefail
so=$1
HILO=$(realpath "${HILO:?the hilo command to test}")
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit
passed=0 failed=0
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $what"; fi
}
cat >rows.mlir <<'MLIR'
func.func @main(%x: tensor<9x99xf32>) -> tensor<9x99xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<9x99xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
       : (tensor<9x99xf32>, tensor<f32>) -> tensor<9xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x99xf32>
  %r = stablehlo.divide %e, %b : tensor<9x99xf32>
  return %r : tensor<9x99xf32>
}
MLIR
if ! "$HILO" compile rows.mlir -o rows.hilo 2>why; then # no code generator in this build, or on this machine
    echo "skipped: $(cat why)"
    echo '0 passed, 0 failed, 1 skipped'
    exit
fi
check 'the program builds' "${CC:-cc}" -std=c11 -I"$here/../../include" "$here/runtime.c" "$so" \
    -Wl,-rpath,"$(dirname "$so")" -o app
check 'it runs' ./app rows.hilo >got
# What needs the program itself is refused, saying what to do.
check 'the evaluator has a file' "$HILO" compile rows.mlir --backend reference -o whole.hilo
check 'it is refused' sh -c '! ./app whole.hilo >got.whole 2>why'
check 'with the reason' grep -q 'load it with libhilo' why
# The same input, as an .npy file: its header, then the elements.
python3 - <<'PY'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (9, 99), }"
head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
with open('x.npy', 'wb') as f:
    f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
    f.write(struct.pack('<891f', *[i % 37 / 8 for i in range(891)]))
PY
check 'hilo runs it' "$HILO" run rows.mlir --input x.npy -o y.npy
tail -c 3564 y.npy >want
check 'the same bits' cmp got want
strip -o stripped.so "$so"
check "it is small: $(wc -c <stripped.so) bytes" [ "$(wc -c <stripped.so)" -le 1000000 ]
# hilo.h marks what it has: HILO_API, and not HILO_FULL_API.
awk '/^HILO_API/ { on = 1 } on; /;/ { on = 0 }' "$here/../../include/hilo.h" | grep -oE '\bhilo_[a-z0-9_]+ *\(' |
    tr -d ' (' | sort -u >declared
nm --dynamic --extern-only --defined-only --format=just-symbols "$so" | sed 's/@.*//' | grep -v '^HILO_' | sort -u >exported
check "it exports what hilo.h declares: $(diff declared exported | tr '\n' ' ')" cmp -s declared exported
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
