#!/bin/sh
# --device gpu --backend library: LU, QR, eigenvalues and singular values by a stand-in for cuSOLVER, on that for the driver.
. "$(dirname "$0")/gpu.inc"
export HILO_CUSOLVER_PATH="$tests" HILO_FAKE_CUSOLVER_REPORT="$dir/cusolver"
export HILO_CUFFT_PATH= HILO_CUBLASLT_PATH= HILO_CUBLAS_PATH= HILO_CUDNN_PATH=

# call FUNCTION OPERANDS RESULTS ATTRIBUTES: a program of one call between kernels, whose floats are doubled
call() {
    function=$1 operands=$2 results=$3 attributes=$4
    n=0 in='' types='' made='' given=''
    for one in $operands; do
        in="$in${in:+, }%x$n: tensor<$one>" types="$types${types:+, }tensor<$one>" given="$given${given:+, }%y$n"
        made="$made  %y$n = stablehlo.add %x$n, %x$n : tensor<$one>
"
        n=$((n + 1))
    done
    count=0 out='' back=''
    for one in $results; do
        out="$out${out:+, }tensor<$one>" back="$back${back:+, }%r#$count"
        count=$((count + 1))
    done
    cat <<EOP
func.func @main($in) -> ($out) {
$made  %r:$count = stablehlo.custom_call @$function($given) {mhlo.backend_config = {$attributes}} : ($types) -> ($out)
  return $back : $out
}
EOP
}

# by COUNTS INPUT...: hilo run of p.mlir equals the evaluator, with so many calls and no transfer between
by() {
    counts=$1
    shift
    rm -f report cusolver
    exits 0 run p.mlir --no-cache "$@" --device gpu --backend library --compare reference
    if grep -qxF "factors 0 $counts handles 1" cusolver; then pass; else fail "$counts expected: $(cat cusolver)"; fi
    if grep -q ' leaks 0 ' report; then pass; else fail "leaks: $(cat report)"; fi
    exits 0 explain p.mlir --device gpu --backend library
    says '0 transfers'
}

# ---- types, tall and wide matrices, batches, triangles, vectors or not
for shape in '2 5 5 5' '1 7 4 4' '3 4 6 4'; do
    set -- $shape
    for type in 's f32' 'd f64' 'c complex<f32>' 'z complex<f64>'; do
        letter=${type% *} t=${type#* }
        call "lapack_${letter}getrf_ffi" "$1x$2x$3x$t" "$1x$2x$3x$t $1x$4xi32 $1xi32" '' >p.mlir
        by "lu $1 qr 0 reflectors 0 eigenvalues 0 singular values 0" --input random:1
        call "lapack_${letter}geqrf_ffi" "$1x$2x$3x$t" "$1x$2x$3x$t $1x$4x$t" '' >p.mlir
        by "lu 0 qr $1 reflectors 0 eigenvalues 0 singular values 0" --input random:1
    done
done
for type in 's or f32' 'd or f64' 'c un complex<f32>' 'z un complex<f64>'; do
    set -- $type
    call "lapack_$1$2gqr_ffi" "2x6x4x$3 2x3x$3" "2x6x4x$3" '' >p.mlir
    by 'lu 0 qr 0 reflectors 2 eigenvalues 0 singular values 0' --input random:1 --input random:2
done
while read -r letter name t real mode uplo; do
    call "lapack_$letter${name}_ffi" "2x5x5x$t" "2x5x5x$t 2x5x$real 2xi32" "mode = $mode : ui8, uplo = $uplo : ui8" >p.mlir
    by 'lu 0 qr 0 reflectors 0 eigenvalues 2 singular values 0' --input random:1
done <<'EOP'
s syevd f32 f32 86 76
d syevd f64 f64 86 85
c heevd complex<f32> f32 86 85
z heevd complex<f64> f64 86 76
EOP
while read -r letter m n k rows columns t real mode; do
    results="2x${m}x${n}x$t 2x${k}x$real 2x${m}x${rows}x$t 2x${columns}x${n}x$t 2xi32"
    call "lapack_${letter}gesdd_ffi" "2x${m}x${n}x$t" "$results" "mode = $mode : ui8" |
        sed 's/return %r#0, /return %y0, /' >p.mlir # the first is anything
    by 'lu 0 qr 0 reflectors 0 eigenvalues 0 singular values 2' --input random:1
done <<'EOP'
s 5 3 3 3 3 f32 f32 83
d 5 3 3 5 3 f64 f64 65
c 4 6 4 4 4 complex<f32> f32 83
z 4 6 4 4 6 complex<f64> f64 65
s 4 4 4 4 4 f32 f32 83
EOP

# ---- what has no library is evaluated, as calls that nothing knows are refused
call lapack_sgetrf_ffi 2x4x4xf32 '2x4x4xf32 2x4xi32 2xi32' '' >p.mlir
exits 0 run p.mlir --no-cache --input random:1 --device gpu --backend library
cp out want
exits 0 compile p.mlir --device gpu --backend library -o p.hilo
exits 0 run p.hilo --device gpu --input random:1
same want 'a file'
(
    export HILO_CUSOLVER_PATH=
    "$HILO" run p.mlir --no-cache --input random:1 --device gpu --backend library >own 2>said
    "$HILO" run p.hilo --device gpu --input random:1 >file 2>>said
)
for x in own file; do
    if cmp -s want $x; then pass; else fail "$x: $(cat said)"; fi
done
if grep -q "no cuSOLVER (NVIDIA's CUDA toolkit)" said; then pass; else fail "no warning: $(cat said)"; fi
exits 0 run p.mlir --no-cache --input random:1
same want 'on the processor'

# ---- each call of the library fails once: the host computes, or a status that names the call; no crash, no leak
library_calls_fail cusolver HILO_FAKE_CUSOLVER_FAIL 7 2 'cusolverDn[A-Za-z_]*: CUSOLVER_STATUS_[A-Z_]* (' \
    'factors 0 lu 2 qr 0 reflectors 0 eigenvalues 0 singular values 0 handles 1' p.mlir --input random:1

finish
