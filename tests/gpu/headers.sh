#!/usr/bin/env bash
# The values of src/external/cudnn.def are those of cuDNN's headers, where these are: in HILO_CUDA_INCLUDE, or the toolkit's
# folder. Without them it is skipped by name.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
for include in ${HILO_CUDA_INCLUDE:-/usr/local/cuda/include /usr/include}; do
    [ ! -e "$include/cudnn_graph.h" ] || [ ! -e "$include/cuda_runtime.h" ] || break
    include=
done
[ -n "$include" ] || { echo "skipped: cudnn_graph.h and cuda_runtime.h are not there"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
    echo '#include <cudnn_graph.h>'
    echo '#define VALUE(name, value) _Static_assert((int)name == value, #name);'
    echo '#include "external/cudnn.def"'
} >"$scratch/values.c"
sed 's/CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17/CUDNN_BACKEND_TENSOR_DESCRIPTOR, 18/' src/external/cudnn.def >"$scratch/wrong.def"
sed "s#external/cudnn.def#$scratch/wrong.def#" "$scratch/values.c" >"$scratch/wrong.c"
compile() { "${CC:-cc}" -std=c11 -fsyntax-only -isystem "$include" -Isrc "$1"; }
compile "$scratch/values.c" || exit 1
if compile "$scratch/wrong.c" 2>"$scratch/err"; then # what is compared can differ
    echo "failed: a wrong value is not found"
    exit 1
fi
grep -q 'CUDNN_BACKEND_TENSOR_DESCRIPTOR' "$scratch/err" || { cat "$scratch/err"; exit 1; }
echo "$(grep -c '^VALUE' src/external/cudnn.def) values are those of $include"
