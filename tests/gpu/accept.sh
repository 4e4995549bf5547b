#!/usr/bin/env bash
# Every kernel of the programs of tests/op and of ../shared/workloads, as PTX for a generation of GPUs, with HILO_TEST_LONG for
# each, is accepted by ptxas, and uses no local memory and spills no register. Kernels of the workloads for sm_80 may use 255
# registers each and as much shared memory as a block has; products have the instructions that they should, where nvdisasm
# is. Without ptxas (PTXAS, or in PATH) it is skipped by name.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
HILO=$(realpath -e "${HILO:-build/hilo}") || exit
shared=${HILO_SHARED:-../shared}
ptxas=$(command -v "${PTXAS:-ptxas}") || { echo "skipped: ptxas is not there"; exit 77; }
every='sm_80 sm_90a sm_100' # with HILO_TEST_LONG; else one, since each takes minutes
read -ra targets <<<"${TARGETS:-$([ -n "${HILO_TEST_LONG:-}" ] && echo "$every" || echo sm_90a)}"
kernels=0 failed=0 align=64 # of shared memory

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    failed=$((failed + 1))
    echo "failed: $1"
}

# append PROGRAM NUMBER TARGET LEVEL: adds the program's kernels, renamed, to $scratch/TARGET.ptx.
append() {
    "$HILO" compile "$1" "-O$4" --target-cpu "$3" --emit asm >"$scratch/one" 2>"$scratch/err"
    local status=$?
    [ $status -lt 126 ] || fail "$1: hilo ends with status $status"
    grep -q '\.entry' "$scratch/one" || return 0
    [ -s "$scratch/$3.ptx" ] || sed '/\.visible \.entry/,$d; /\.extern \.shared/d' "$scratch/one" >"$scratch/$3.head"
    local shared; shared=$(sed -n 's/.*\.extern \.shared \.align \([0-9]*\).*/\1/p' "$scratch/one")
    [ "${shared:-0}" -le "$align" ] || align=$shared
    sed -n "s/kernel\([0-9]\)/p$2_kernel\1/g; /\.visible \.entry/,\$p" "$scratch/one" >>"$scratch/$3.ptx"
}

# accept NAME TARGET: what was appended since.
accept() {
    local out="$scratch/$2.ptx" n
    [ -s "$out" ] || return 0
    { cat "$scratch/$2.head"; echo ".extern .shared .align $align .b8 shared[];"; cat "$out"; } >"$scratch/all.ptx"
    align=64
    if ! "$ptxas" -arch="$2" -v -o /dev/null "$scratch/all.ptx" >"$scratch/log" 2>&1; then
        fail "$1 for $2: $(head -n 3 "$scratch/log")"
    elif grep -qE '[1-9][0-9]* bytes (stack|spill)' "$scratch/log"; then
        fail "$1 for $2: $(grep -E -B 2 '[1-9][0-9]* bytes (stack|spill)' "$scratch/log" | head -n 6)"
    fi
    n=$(grep -c 'Used [0-9]* registers' "$scratch/log")
    [ "$n" = "$(grep -c '\.visible \.entry' "$out")" ] || fail "$1 for $2: $n kernels of $(grep -c '\.visible \.entry' "$out")"
    kernels=$((kernels + n))
    : >"$out"
}

# accept_file FILE TARGET: programs are divided by lines `// -----`. Those of tests/op compute with constants, which level 1
# does not fold.
accept_file() {
    local level=1
    [[ $1 == tests/* ]] || level=2
    rm -f "$scratch"/program*
    awk -v out="$scratch/program" 'BEGIN { n = 1000 } /^\/\/ -----/ { n++ } { print >(out n ".mlir") }' "$1"
    for program in "$scratch"/program*.mlir; do
        append "$program" "${program//[!0-9]/}" "$2" $level
    done
    accept "$1" "$2"
}

files=(tests/op/*.mlir)
shopt -s nullglob
files+=("$shared"/workloads/*.mlir)
[ $# -eq 0 ] || files=("$@")
for target in "${targets[@]}"; do
    : >"$scratch/$target.ptx"
    for file in "${files[@]}"; do
        accept_file "$file" "$target"
    done
    echo "$target: $kernels kernels so far"
done

# expect NAME LHS RHS RESULT DIMENSIONS 'INSTRUCTION COUNT'...: the code of a product for $generation has at least so many of
# each instruction, where nvdisasm is, no local memory, and products of warpgroups that ptxas leaves asynchronous.
expect() {
    local name="$1 for $generation" a=$2 b=$3 r=$4 dims=$5 pattern
    shift 5
    cat >"$scratch/product.mlir" <<END
func.func @main(%a: tensor<$a>, %b: tensor<$b>) -> tensor<$r> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = $dims : (tensor<$a>, tensor<$b>) -> tensor<$r>
  return %0 : tensor<$r>
}
END
    if ! { "$HILO" compile "$scratch/product.mlir" --target-cpu "$generation" --emit asm -o "$scratch/product.ptx" &&
        "$ptxas" -arch="$generation" -v -o "$scratch/product.cubin" "$scratch/product.ptx" >"$scratch/log" 2>&1; }; then
        fail "$name is not accepted"
        return
    fi
    ! grep -qE '[1-9][0-9]* bytes (stack|spill)' "$scratch/log" || fail "$name spills registers"
    ! grep -q 'serialized' "$scratch/log" || fail "$name: $(grep -m 1 'serialized' "$scratch/log")"
    [ -n "$nvdisasm" ] || return
    "$nvdisasm" "$scratch/product.cubin" >"$scratch/sass" || fail "$name: nvdisasm"
    ! grep -qE '\b(LDL|STL)\b' "$scratch/sass" || fail "$name accesses local memory"
    for pattern in "$@"; do
        [ "$(grep -c "\b${pattern% *}" "$scratch/sass")" -ge "${pattern#* }" ] || fail "$name has less than $pattern"
    done
}

nvdisasm=$(command -v "${NVDISASM:-nvdisasm}") || echo "skipped: nvdisasm is not there"
n=4096x4096 generation=sm_80
expect 'the product of f32' ${n}xf32 ${n}xf32 ${n}xf32 '[1] x [0]' 'FFMA 1024' 'LDS.128 64' 'LDGSTS.E.BYPASS.128 12' \
    'STG.E.128 16'
expect 'the product of bf16' ${n}xbf16 ${n}xbf16 ${n}xbf16 '[1] x [0]' 'HMMA.16816.F32.BF16 32' 'LDSM.16.M88.4 8' \
    'LDSM.16.MT88.4 4' 'LDGSTS.E.BYPASS.128 12'
expect 'the product of f16' ${n}xf16 ${n}xf16 ${n}xf32 '[1] x [1]' 'HMMA.16816.F32 32' 'LDSM.16.M88.4 12' \
    'LDGSTS.E.BYPASS.128 12'
expect 'the product of i8' ${n}xi8 ${n}xi8 ${n}xi32 '[1] x [1]' 'IMMA.16832.S8.S8 32' 'LDSM.16.M88.4 12' \
    'LDGSTS.E.BYPASS.128 12'
expect 'GEMV along' 1x2048xbf16 2048x2048xbf16 1x2048xbf16 '[1] x [1]' 'LDG.E.128 5'
expect 'GEMV across' 1x2048xbf16 2048x2048xbf16 1x2048xbf16 '[1] x [0]' 'LDG.E.128 3' 'STS.128 2'
generation=sm_90a
expect 'the product of bf16' ${n}xbf16 ${n}xbf16 ${n}xbf16 '[1] x [0]' 'HGMMA.64x256x16.F32.BF16 4' 'UTMALDG.2D 20' \
    'SYNCS.PHASECHK.TRANS64.TRYWAIT 4'
expect 'the product of f16' ${n}xf16 ${n}xf16 ${n}xf32 '[1] x [1]' 'HGMMA.64x256x16.F32 4' 'UTMALDG.2D 8'
expect 'the small product of bf16' 512x512xbf16 512x512xbf16 512x512xbf16 '[0] x [1]' 'HGMMA.64x64x16.F32.BF16 4' \
    'UTMALDG.2D 4'
echo "$kernels kernels accepted, $failed failed"
[ $failed = 0 ] && [ $kernels -gt 100 ]
