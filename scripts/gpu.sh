#!/bin/sh
# gpu.sh [FILE]: on a machine with an NVIDIA GPU: the programs of tests/op on the device against the reference evaluator, and
# times of a large elementwise program on both. Writes FILE (gpu.json). HILO: the command, default build/hilo.
set -u
cd "$(dirname "$0")/.." || exit
hilo=${HILO:-build/hilo}
out=${1:-gpu.json}
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
device=$("$hilo" devices | sed -n 's/^gpu:0: //p')
[ -n "$device" ] || { "$hilo" devices | grep '^gpu' >&2; exit 1; }
"$hilo" check --device gpu --arguments tests/op/*.mlir >"$dir/op" 2>&1
ops=$(grep -E '^[0-9]+ passed' "$dir/op" | tail -n 1)
cat >"$dir/chain.mlir" <<'EOF'
func.func @main(%x: tensor<67108864xf32>, %y: tensor<67108864xf32>) -> tensor<67108864xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<67108864xf32>
  %1 = stablehlo.add %0, %x : tensor<67108864xf32>
  return %1 : tensor<67108864xf32>
}
EOF
gpu=$("$hilo" run "$dir/chain.mlir" --device gpu --input random:1 --timing 20 --json | sed 's/.*"median_ms":\([0-9.]*\).*/\1/')
cpu=$("$hilo" run "$dir/chain.mlir" --input random:1 --timing 20 --json | sed 's/.*"median_ms":\([0-9.]*\).*/\1/')
printf '{"device":"%s","ops":"%s","chain_768MiB_ms":{"gpu":%s,"cpu":%s}}\n' "$device" "$ops" "${gpu:-null}" "${cpu:-null}" \
    >"$out"
grep -v '^ok' "$dir/op" | tail -n 20
cat "$out"
