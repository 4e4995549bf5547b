#!/usr/bin/env bash
# wheel.sh: builds the wheel, with LLVM inside where its static archives are, and uses it in a fresh environment: as a
# device of JAX, and as the module hilo. It takes minutes, so only with HILO_TEST_LONG. Needs JAX and scikit-build-core,
# in the environment of $HILO_PYTHON, in .venv, or python3's.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${HILO_PYTHON:-python3}
[ -n "${HILO_PYTHON:-}" ] || [ ! -x "$root/.venv/bin/python" ] || python=$root/.venv/bin/python
missing=$("$python" -c 'import jax, pip, scikit_build_core, venv' 2>&1 | tail -n 1)
[ -n "${HILO_TEST_LONG:-}" ] || missing='it takes minutes; HILO_TEST_LONG=1 runs it'
if [ -n "$missing" ]; then
    echo "skipped: $missing"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        tail -n 30 "$dir/log" | cut -c 1-400
    fi
}

inside=OFF
archives=$(/usr/lib/llvm-19/bin/llvm-config --libdir 2>/dev/null)
zstd=$("${CC:-cc}" -print-file-name=libzstd.a) # a path where there is one, else the name
[ ! -e "$archives/libLLVMCore.a" ] || [ ! -e "$zstd" ] || inside=ON
check 'the wheel builds' "$python" -m pip wheel --no-build-isolation --no-deps --wheel-dir "$dir" \
    -C "cmake.define.HILO_PRIVATE_LLVM=$inside" "$root/python"
wheel=$(ls "$dir"/*.whl) || { echo "$passed passed, $failed failed"; exit 1; }
check 'it is not larger than 60 MB' [ "$(stat -c %s "$wheel")" -le 60000000 ]

# Its libraries need the C library and nothing else, but for LLVM, which is opened; `glibc` is the least version of it.
mkdir "$dir/unpacked"
check 'it unpacks' "$python" -m zipfile -e "$wheel" "$dir/unpacked"
metadata=$(cat "$dir"/unpacked/*.dist-info/METADATA)
check 'it needs numpy, and JAX as an extra' [ "$(grep '^Requires-Dist' <<<"$metadata" | tr '\n' '|' | tr -d ' ')" = \
    "Requires-Dist:numpy|Requires-Dist:jax>=0.10;extra=='jax'|" ]
needs=$(objdump -p "$dir"/unpacked/hilo/*.so | sed -n 's/^ *NEEDED *//p' | sort -u)
others=$(echo "$needs" | grep -vE '^(lib(c|m|dl|pthread|rt|gcc_s)\.so|ld-linux)')
glibc=$(objdump -T "$dir"/unpacked/hilo/*.so | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
check "it needs the C library only, not: $others" [ -z "$others" ]
[ "$inside" = OFF ] || check 'LLVM is inside' [ -e "$dir/unpacked/hilo/libhilo-llvm.so" ]

# JAX and numpy are those of the environment that builds; what is installed here comes first.
check 'a fresh environment' "$python" -m venv "$dir/venv"
own=$("$dir/venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
"$python" -c 'import site; print(site.getsitepackages()[0])' >"$own/others.pth"
check 'it installs' "$dir/venv/bin/python" -m pip install --no-deps --no-index "$wheel"
fresh() { (cd "$dir" && env -u HILO_PJRT_PLUGIN -u HILO_LIBRARY -u HILO_LLVM_PATH -u PYTHONPATH "$@"); }
check 'JAX finds the device' fresh JAX_PLATFORMS=hilo "$dir/venv/bin/python" -c "
import jax, jax.numpy as jnp, jax_hilo
assert jax_hilo.library_path().startswith('$own'), jax_hilo.library_path()
assert jax.devices()[0].platform == 'hilo'
assert abs(jax.jit(lambda x: jnp.sin(x).sum())(jnp.arange(4.0)) - 1.8918) < 1e-3
maps = open('/proc/self/maps').read()
assert ('libhilo-llvm.so' in maps) == ('$inside' == 'ON') and ('libLLVM' in maps) == ('$inside' == 'OFF')
"
check 'the module runs programs' fresh "$dir/venv/bin/python" -c "
import hilo, numpy as np
assert hilo.__file__.startswith('$own'), hilo.__file__
f = hilo.compile('''func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}''')
assert (hilo.load(f.serialize())(np.arange(3, dtype=np.float32)) == [0, 2, 4]).all()
maps = open('/proc/self/maps').read()
assert '$own/hilo/libhilo.so' in maps and ('libhilo-llvm.so' in maps) == ('$inside' == 'ON')
"
echo "the wheel: $(stat -c %s "$wheel") bytes, with LLVM inside: $inside, for ${glibc/_/ } and later"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
