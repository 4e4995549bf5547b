#!/bin/sh
# gpu.sh [--quick] [--parts LIST] [FILE]: on a machine with an NVIDIA GPU, in less than nine minutes: the programs of tests/op
# on the device against their assertions, a part of them under compute-sanitizer where that is installed, and times beside a
# copy in the device's memory, PyTorch and JAX where these are importable and have the GPU. What is not there, or has no time
# left, is told. Prints a table and writes FILE (gpu.json).
# HILO: the command, default build/hilo. MODEL: a directory of a language model, whose speed is measured, too.
# --quick: small sizes and one file, as the tests run it on a stand-in for the driver.
# WORKLOADS: a directory of programs with recipes, which run beside XLA by JAX (bench/peers.py --device gpu); LIBRARY:
# libhilo.so.
# --parts: some of ops,sanitizer,peers,kernels,libraries,model,workloads,calibrate; else all.
set -u
cd "$(dirname "$0")/.." || exit
hilo=${HILO:-build/hilo}
quick='' parts=ops,sanitizer,peers,kernels,libraries,model,workloads,calibrate
[ "${1-}" != --quick ] || { quick=1 && shift; }
[ "${1-}" != --parts ] || { parts=$2 && shift 2; }
part() { case ",$parts," in *",$1,"*) ;; *) false ;; esac }
out=${1:-gpu.json}
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
begin=$(date +%s)
# within SECONDS COMMAND...: for at most so long, and not beyond what the script may take.
within() {
    limit=$1 rest=$((begin + 530 - $(date +%s)))
    shift
    [ "$limit" -le "$rest" ] || limit=$rest
    [ "$limit" -gt 0 ] || { echo 'no time is left' >&2 && return 124; }
    timeout "$limit" "$@"
}
device=$("$hilo" devices | sed -n 's/^gpu:0: //p')
[ -n "$device" ] || { "$hilo" devices | grep '^gpu' >&2; exit 1; }
if [ "$quick" ]; then
    n=4096 rows=16 columns=64 size=64 width=64 layers=2 depth=4 runs=2 new=2 checked='tests/op/abs.mlir'
    images=2 side=6 features=8 order=8
else
    n=67108864 rows=16384 columns=4096 size=4096 width=8192 layers=8 depth=50 runs=20 new=64 checked='tests/op/*.mlir'
    images=8 side=56 features=128 order=1024
fi

# ---- correctness
ops='not run'
if part ops; then
    within 240 "$hilo" check --device gpu --arguments $checked >"$dir/op" 2>&1
    ops=$(grep -E '^[0-9]+ passed' "$dir/op" | tail -n 1)
    [ "$ops" ] || ops="did not end: $(tail -n 1 "$dir/op" | tr -d '"\\')"
    grep -E '^tests/op' "$dir/op" | head -n 20
fi
sanitizer='not run'
if ! command -v compute-sanitizer >/dev/null; then
    sanitizer='not installed'
elif part sanitizer; then
    within 90 compute-sanitizer --error-exitcode 9 "$hilo" check -j 1 --device gpu --arguments tests/op/reduce*.mlir \
        tests/op/contraction_units.mlir >"$dir/sanitizer" 2>&1
    case $? in
    0) sanitizer='no errors' ;;
    124) sanitizer='did not end in time' ;;
    *) sanitizer=errors && tail -n 20 "$dir/sanitizer" ;;
    esac
fi

# ---- programs: each is a row, with the bytes that it has to read and write, and its operations
row() { # NAME BYTES OPERATIONS, the program from standard input
    cat >"$dir/$1.mlir"
    echo "$1 $2 $3" >>"$dir/rows"
}
v="tensor<${n}xf32>"
row copy $((8 * n)) 0 <<EOP
func.func @main(%x: $v) -> $v {
  return %x : $v
}
EOP
row elementwise $((12 * n)) 0 <<EOP
func.func @main(%x: $v, %y: $v) -> $v {
  %0 = stablehlo.multiply %x, %y : $v
  %1 = stablehlo.add %0, %x : $v
  %2 = stablehlo.maximum %1, %y : $v
  return %2 : $v
}
EOP
m="tensor<${rows}x${columns}xf32>" r="tensor<${rows}xf32>" s='tensor<f32>'
reduce() { # RESULT OPERAND OP INIT
    echo "  $1 = stablehlo.reduce($2 init: $4) applies stablehlo.$3 across dimensions = [1] : ($m, $s) -> $r"
}
spread() { # RESULT OPERAND
    echo "  $1 = stablehlo.broadcast_in_dim $2, dims = [0] : ($r) -> $m"
}
row softmax $((8 * rows * columns)) 0 <<EOP
func.func @main(%x: $m) -> $m {
  %zero = stablehlo.constant dense<0.0> : $s
  %least = stablehlo.constant dense<0xFF800000> : $s
$(reduce %0 %x maximum %least)
$(spread %1 %0)
  %2 = stablehlo.subtract %x, %1 : $m
  %3 = stablehlo.exponential %2 : $m
$(reduce %4 %3 add %zero)
$(spread %5 %4)
  %6 = stablehlo.divide %3, %5 : $m
  return %6 : $m
}
EOP
row norm $((8 * rows * columns)) 0 <<EOP
func.func @main(%x: $m) -> $m {
  %zero = stablehlo.constant dense<0.0> : $s
  %part = stablehlo.constant dense<$(awk "BEGIN { printf \"%.9e\", 1 / $columns }")> : $r
  %small = stablehlo.constant dense<1.0e-5> : $r
  %0 = stablehlo.multiply %x, %x : $m
$(reduce %1 %0 add %zero)
  %2 = stablehlo.multiply %1, %part : $r
  %3 = stablehlo.add %2, %small : $r
  %4 = stablehlo.rsqrt %3 : $r
$(spread %5 %4)
  %6 = stablehlo.multiply %x, %5 : $m
  return %6 : $m
}
EOP
q="tensor<${size}x${size}xbf16>"
# images of 8 × 56 × 56, 128 features, or of 2 × 6 × 6 and 8
c="tensor<${images}x${side}x${side}x${features}xbf16>" k="tensor<3x3x${features}x${features}xbf16>"
row convolution $((4 * images * side * side * features)) $((18 * images * side * side * features * features)) <<EOP
func.func @main(%x: $c, %w: $k) -> $c {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : ($c, $k) -> $c
  return %0 : $c
}
EOP
row product $((6 * size * size)) $((2 * size * size * size)) <<EOP
func.func @main(%x: $q, %y: $q) -> $q {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ($q, $q) -> $q
  return %0 : $q
}
EOP
w="tensor<${width}x${width}xbf16>" a="tensor<1x${width}xbf16>"
{ # one token's products with weights of half a billion parameters
    printf 'func.func @main(%%t0: %s' "$a"
    i=0
    while [ $i -lt $layers ]; do printf ', %%w%d: %s' $i "$w"; i=$((i + 1)); done
    echo ") -> $a {"
    i=0
    while [ $i -lt $layers ]; do
        echo "  %d$i = stablehlo.dot_general %t$i, %w$i, contracting_dims = [1] x [0] : ($a, $w) -> $a"
        echo "  %t$((i + 1)) = stablehlo.tanh %d$i : $a"
        i=$((i + 1))
    done
    echo "  return %t$layers : $a"
    echo '}'
} | row matvec $((2 * layers * width * width)) $((2 * layers * width * width))
t='tensor<64x64xf32>' u='tensor<64xf32>'
{ # kernels of which each needs all of the one before
    echo "func.func @main(%t0: $t) -> $t {"
    echo "  %zero = stablehlo.constant dense<0.0> : $s"
    i=0
    while [ $i -lt $depth ]; do
        echo "  %r$i = stablehlo.reduce(%t$i init: %zero) applies stablehlo.add across dimensions = [$((i % 2))]"
        echo "      : ($t, $s) -> $u"
        echo "  %b$i = stablehlo.broadcast_in_dim %r$i, dims = [$((i % 2))] : ($u) -> $t"
        echo "  %t$((i + 1)) = stablehlo.subtract %b$i, %t$i : $t"
        i=$((i + 1))
    done
    echo "  return %t$depth : $t"
    echo '}'
} | row tiny 0 0

# Factors, which are the libraries' alone: the host's take long.
factor() { # NAME OPERATIONS, the body from standard input: of %x, with the diagonal large, to %r
    cat >"$dir/$1.mlir" <<EOP
func.func @main(%a: $f) -> $f {
  %i = stablehlo.iota dim = 0 : $e
  %j = stablehlo.iota dim = 1 : $e
  %d = stablehlo.compare EQ, %i, %j : ($e, $e) -> tensor<${order}x${order}xi1>
  %n = stablehlo.constant dense<$order.0> : $f
  %x = stablehlo.select %d, %n, %a : tensor<${order}x${order}xi1>, $f
$(cat)
  return %r : $f
}
EOP
    echo "$1 $((8 * order * order)) $2" >>"$dir/factors"
}
e="tensor<${order}x${order}xi32>" f="tensor<${order}x${order}xf32>" h="tensor<${order}xf32>" cube=$((order * order * order))
factor cholesky $((cube / 3)) <<EOP
  %r = stablehlo.cholesky %x, lower = true : $f
EOP
factor lu $((2 * cube / 3)) <<EOP
  %r, %p, %o = stablehlo.custom_call @lapack_sgetrf_ffi(%x) : ($f) -> ($f, tensor<${order}xi32>, tensor<i32>)
EOP
factor qr $((8 * cube / 3)) <<EOP
  %q, %t = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) : ($f) -> ($f, $h)
  %r = stablehlo.custom_call @lapack_sorgqr_ffi(%q, %t) : ($f, $h) -> $f
EOP
factor eigh $((9 * cube)) <<EOP
  %r, %w, %o = stablehlo.custom_call @lapack_ssyevd_ffi(%x) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}}
    : ($f) -> ($f, $h, tensor<i32>)
EOP
factor svd $((22 * cube)) <<EOP
  %l, %s, %r, %v, %o = stablehlo.custom_call @lapack_sgesdd_ffi(%x) {mhlo.backend_config = {mode = 83 : ui8}}
    : ($f) -> ($f, $h, $f, $f, tensor<i32>)
EOP

# ---- peers: lines `NAME LIBRARY MS`, and `peer LIBRARY VERSION`, or why it is not used
cat >"$dir/peers.py" <<EOP
import statistics, sys, time
n, rows, columns, size, width, layers, runs = $n, $rows, $columns, $size, $width, $layers, $runs
images, side, features, order = $images, $side, $features, $order

def median(name, library, run, wait):
    try:
        for _ in range(3):
            run()
        wait()
        times = []
        for _ in range(runs):
            begin = time.perf_counter()
            run()
            wait()
            times.append(1e3 * (time.perf_counter() - begin))
        print(name, library, statistics.median(times), flush=True)
    except Exception as e:
        print(name, library, e, file=sys.stderr)

try:
    import torch
    print("peer torch", torch.__version__ if torch.cuda.is_available() else "has no GPU", flush=True)
    if torch.cuda.is_available():
        def rand(*dims, dtype=torch.float32):
            return torch.rand(dims, device="cuda").to(dtype)
        x, y, m = rand(n), rand(n), rand(rows, columns)
        a, b = rand(size, size, dtype=torch.bfloat16), rand(size, size, dtype=torch.bfloat16)
        w, t = [rand(width, width, dtype=torch.bfloat16) for _ in range(layers)], rand(1, width, dtype=torch.bfloat16)
        image = rand(images, features, side, side, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        window = rand(features, features, 3, 3, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        g = rand(order, order)
        spd = g @ g.T + order * torch.eye(order, device="cuda")
        elementwise = torch.compile(lambda x, y: torch.maximum(x * y + x, y))
        norm = torch.compile(lambda m: m * torch.rsqrt((m * m).mean(1, keepdim=True) + 1e-5))
        def matvec():
            v = t
            for k in w:
                v = torch.tanh(v @ k)
        for name, run in (("copy", x.clone), ("elementwise", lambda: elementwise(x, y)),
                          ("softmax", lambda: torch.softmax(m, 1)), ("norm", lambda: norm(m)),
                          ("product", lambda: a @ b), ("matvec", matvec),
                          ("convolution", lambda: torch.conv2d(image, window, padding=1)),
                          ("cholesky", lambda: torch.linalg.cholesky(spd)), ("lu", lambda: torch.linalg.lu_factor(spd)),
                          ("qr", lambda: torch.linalg.qr(spd)), ("eigh", lambda: torch.linalg.eigh(spd)),
                          ("svd", lambda: torch.linalg.svd(spd, full_matrices=False))):
            median(name, "torch", run, torch.cuda.synchronize)
except ImportError:
    print("peer torch is not installed")
try:
    import jax, jax.numpy as jnp
    print("peer jax", jax.__version__ if jax.default_backend() == "gpu" else "has no GPU", flush=True)
    if jax.default_backend() == "gpu":
        def rand(*dims, dtype=jnp.float32):
            return jax.random.uniform(jax.random.key(0), dims).astype(dtype)
        x, y, m, a = rand(n), rand(n), rand(rows, columns), rand(size, size, dtype=jnp.bfloat16)
        g = rand(order, order)
        spd = g @ g.T + order * jnp.eye(order)
        for name, f, args in (("copy", lambda x: x.copy(), (x,)),
                              ("elementwise", lambda x, y: jnp.maximum(x * y + x, y), (x, y)),
                              ("softmax", lambda m: jax.nn.softmax(m, axis=1), (m,)),
                              ("norm", lambda m: m * jax.lax.rsqrt((m * m).mean(1, keepdims=True) + 1e-5), (m,)),
                              ("product", lambda a: a @ a, (a,)),
                              ("convolution", lambda x, w: jax.lax.conv_general_dilated(
                                  x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
                               (rand(images, side, side, features, dtype=jnp.bfloat16),
                                rand(3, 3, features, features, dtype=jnp.bfloat16))),
                              ("cholesky", jnp.linalg.cholesky, (spd,)), ("lu", jax.lax.linalg.lu, (spd,)),
                              ("qr", jnp.linalg.qr, (spd,)), ("eigh", jnp.linalg.eigh, (spd,)),
                              ("svd", lambda a: jnp.linalg.svd(a, full_matrices=False), (spd,))):
            f = jax.jit(f)
            median(name, "jax", lambda: jax.block_until_ready(f(*args)), lambda: None)
except ImportError:
    print("peer jax is not installed")
EOP
: >"$dir/peers"
! part peers || ! command -v python3 >/dev/null ||
    within 150 python3 "$dir/peers.py" >"$dir/peers" 2>"$dir/peers.err" || tail -n 3 "$dir/peers.err"

# ---- times: of kernels, and of the product and the convolution by cuBLASLt and cuDNN where these are
time_of() { # NAME BACKEND
    within 60 "$hilo" run "$dir/$1.mlir" --device gpu --backend "$2" --input random:1 --timing $runs --json 2>"$dir/err" |
        sed -n 's/.*"median_ms":\([0-9.]*\).*/\1/p'
}
: >"$dir/times"
part kernels && while read -r name bytes operations; do
    ms=$(time_of "$name" codegen)
    [ -n "$ms" ] || { echo "$name: $(tail -n 1 "$dir/err")"; }
    echo "$name $bytes $operations ${ms:-0}" >>"$dir/times"
done <"$dir/rows"
used() { # NAME PATTERN LIBRARY: whether it computes that; if not, the reason is told
    "$hilo" compile "$dir/$1.mlir" --device gpu --backend library --emit plan >"$dir/plan" 2>"$dir/err"
    grep -q "$2" "$dir/plan" && return
    echo "$1: not by $3: $(grep -F "$3" "$dir/err" | head -n 1)"
    return 1
}
by_library() { # NAME LIBRARY
    used "$1" "by $2" "$2" || return 0
    ms=$(time_of "$1" library)
    awk -v ms="${ms:-0}" -v name="$1" -v by="$2" '$1 == name { print by, $2, $3, ms }' "$dir/rows" >>"$dir/times"
}
if part libraries; then
    by_library product cuBLASLt
    by_library convolution cuDNN
    while read -r name bytes operations; do
        used "$name" ' cusolver\.' cuSOLVER || continue
        ms=$(time_of "$name" library)
        echo "$name $bytes $operations ${ms:-0}" >>"$dir/times"
    done <"$dir/factors"
fi
tokens=
if part model && [ "${MODEL-}" ]; then
    tokens=$(within 120 "$hilo" generate -m "$MODEL" --engine hilo:gpu --raw -p A -n $new --json |
        sed -n 's/.*"decode_tok_s":\([0-9.]*\).*/\1/p')
fi

launches=$("$hilo" explain "$dir/tiny.mlir" --device gpu --json | sed -n 's/.*"launches":\([0-9]*\).*/\1/p')

awk -v device="$device" -v ops="$ops" -v sanitizer="$sanitizer" -v launches="${launches:-0}" -v day="$(date -u +%F)" \
    -v tokens="$tokens" -v json="$out" '
    function number(x) { return x == "" || x == 0 ? "null" : x }
    function version(x) { return x in versions ? versions[x] : "was not asked" }
    $1 == "peer" && FILENAME ~ /peers$/ { versions[$2] = substr($0, length($1 $2) + 3); next }
    FILENAME ~ /peers$/ { peer[$1, $2] = $3; next }
    {
        if ($1 == "copy" && $4 > 0) copied = $2 / $4
        rate = $4 > 0 ? $2 / $4 / 1e6 : 0; share = $4 > 0 && copied > 0 ? $2 / $4 / copied : 0
        as = $1 == "cuBLASLt" ? "product" : $1 == "cuDNN" ? "convolution" : $1
        peer[$1, "torch"] = peer[as, "torch"]; peer[$1, "jax"] = peer[as, "jax"]
        if (as ~ /^(product|convolution|cholesky|lu|qr|eigh|svd)$/) share = $4 > 0 ? peer[as, "torch"] / $4 : 0
        if ($1 == "tiny") share = 0
        rows = rows sprintf("%s\n{\"name\":\"%s\",\"ms\":%s,\"gb_per_s\":%s,\"tflop_per_s\":%s,", rows != "" ? "," : "", $1,
            number($4), number(rate), number($4 > 0 ? $3 / $4 / 1e9 : 0))
        rows = rows sprintf("\"torch_ms\":%s,\"jax_ms\":%s,\"share\":%s}", number(peer[$1, "torch"]),
            number(peer[$1, "jax"]), number(share))
        table = table sprintf("%-12s %10s %10s %10s %10s %8s\n", $1, $4 > 0 ? $4 : "-", rate ? sprintf("%.1f", rate) : "-",
            peer[$1, "torch"] ? peer[$1, "torch"] : "-", peer[$1, "jax"] ? peer[$1, "jax"] : "-",
            $1 == "tiny" && $4 > 0 && launches > 0 ? sprintf("%.2f us", 1000 * $4 / launches) : \
            share ? sprintf("%.2f", share) : "-")
    }
    END {
        printf "%s, %s\ntests/op: %s; compute-sanitizer: %s\n", device, day, ops, sanitizer
        printf "torch: %s; jax: %s\n\n", version("torch"), version("jax")
        printf "%-12s %10s %10s %10s %10s %8s\n%s", "", "hilo ms", "GB/s", "torch ms", "jax ms", "share", table
        printf "share: of the rate of the copy; products, convolution, factors: of torch\n"
        printf "tiny: time of each of %d kernels in turn\n", launches
        if (tokens) printf "decode: %s tokens/s\n", tokens
        printf "{\"device\":\"%s\",\"date\":\"%s\",\"ops\":\"%s\",\"sanitizer\":\"%s\",", device, day, ops, sanitizer >json
        printf "\"torch\":\"%s\",\"jax\":\"%s\",", version("torch"), version("jax") >json
        printf "\"tiny_launches\":%d,\"tokens_per_s\":%s,\"rows\":[%s]}\n", launches, number(tokens), rows >json
    }' "$dir/peers" "$dir/times"

# ---- programs with recipes, beside XLA
if part workloads && [ "${WORKLOADS-}" ]; then
    within 150 python3 bench/peers.py --device gpu --engines xla,hilo --workloads "$WORKLOADS" --seconds 0.2 --rounds 2 \
        --timeout 30 --library "${LIBRARY:-build/libhilo.so}" --json "$out.workloads.json"
fi

# ---- which of the libraries that are there are faster than kernels, and than the host
export HILO_CACHE_DIR="$dir/cache"
[ "$quick" ] || ! part calibrate || within 90 "$hilo" calibrate --device gpu 2>"$dir/err" || tail -n 1 "$dir/err"
