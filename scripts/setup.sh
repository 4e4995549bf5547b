#!/usr/bin/env bash
# What the project needs from the system.
#   setup.sh build      checks what `make` needs, and installs what is missing
#   setup.sh test       the same for `make test`
#   setup.sh has THING  reports by its exit status
# On Debian and its kin the packages are installed with apt-get; without root, or elsewhere, it says
# what to install. JAX, for comparisons in tests, goes to .venv, unless HILO_PYTHON names a Python that has it.
set -euo pipefail
cd "$(dirname "$0")/.."

runs() { command -v "$1" >/dev/null; }
compiles() { # COMPILER FLAGS...; the program comes on standard input
    local compiler=$1 out status=0
    shift
    out=$(mktemp)
    "$compiler" -x c - -o "$out" "$@" >/dev/null 2>&1 || status=$?
    rm -f "$out"
    return $status
}

# has_THING looks for a thing; the table below gives its users and its packages.
has_compiler() { compiles "${CC:-cc}" <<<'int main(void) { return 0; }'; }
has_cmake() {
    runs cmake || return 1
    local version
    version=$(cmake --version | sed -n 's/^cmake version //p')
    [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}
has_ninja() { runs ninja; }
has_zlib() { compiles "${CC:-cc}" -lz <<<'#include <zlib.h>
    int main(void) { return zlibVersion() == 0; }'; }
has_jansson() { compiles "${CC:-cc}" -ljansson <<<'#include <jansson.h>
    int main(void) { return json_null() == 0; }'; }
has_pcre2() { compiles "${CC:-cc}" -lpcre2-8 <<<'#define PCRE2_CODE_UNIT_WIDTH 8
    #include <pcre2.h>
    int main(void) { return pcre2_config(PCRE2_CONFIG_UNICODE, 0) == 0; }'; }
has_utf8proc() { compiles "${CC:-cc}" -lutf8proc <<<'#include <utf8proc.h>
    int main(void) { return utf8proc_version() == 0; }'; }
has_microhttpd() { compiles "${CC:-cc}" -lmicrohttpd <<<'#include <microhttpd.h>
    int main(void) { return MHD_get_version() == 0; }'; }
has_cmocka() { compiles "${CC:-cc}" -lcmocka <<<'#include <stdarg.h>
    #include <setjmp.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <cmocka.h>
    int main(void) { return 0; }'; }
has_pkgconfig() { runs pkg-config; }
has_llvm() { [ -f "${LLVM_INCLUDE_DIR:-/usr/lib/llvm-19/include}/llvm-c/Core.h" ]; }
has_cxx() { runs c++; }
libraries() { ldconfig -p 2>/dev/null | grep -c "$1" || true; } # -q would end ldconfig early, which pipefail reports
has_openblas() { [ "$(libraries 'libopenblas\.so')" -ge 1 ]; }
has_onednn() { [ "$(libraries 'libdnnl\.so')" -ge 1 ]; }
has_ucx() { [ "$(libraries 'libucp\.so')" -ge 1 ]; }
has_fftw() { [ "$(libraries 'libfftw3f\?\.so\.3')" -ge 2 ]; }
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }
has_lld() { runs ld.lld; }
has_libfuzzer() { compiles clang -fsanitize=fuzzer,address,undefined <<<'#include <stddef.h>
    int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n) { return p && n > 9999 && *p; }'; }

things() { # thing, who needs it, how much, packages, what it is
    cat <<'TABLE'
compiler   build,test  required  gcc,libc6-dev          a C compiler
cmake      build,test  required  cmake                  CMake 3.25 or newer
ninja      build,test  wanted    ninja-build            Ninja (faster than make)
zlib       build,test  required  zlib1g-dev             zlib with its headers
jansson    build,test  required  libjansson-dev         jansson, for the JSON of models
pcre2      build,test  required  libpcre2-dev           PCRE2, for the expressions of tokenizers
utf8proc   build,test  required  libutf8proc-dev        utf8proc, for Unicode normal forms
microhttpd build,test  wanted    libmicrohttpd-dev      libmicrohttpd with its headers, for hilo serve
llvm       build,test  wanted    llvm-19-dev            LLVM 19 with its headers, to compile kernels
cmocka     test        required  libcmocka-dev          cmocka, for the unit tests
pkgconfig  test        required  pkg-config             pkg-config, to test the installation
cxx        test        required  g++                    a C++ compiler, to test hilo.h
openblas   test        wanted    libopenblas0           OpenBLAS, for the backend 'library'
onednn     test        wanted    libdnnl2               oneDNN, for the backend 'library'
fftw       test        wanted    libfftw3-single3,libfftw3-double3  FFTW, for the backend 'library'
ucx        test        wanted    libucx0                UCX, for programs on several processes
venv       test        wanted    python3-venv           Python with venv, for the tests against JAX
lld        test        wanted    lld                    LLD, which links the tests in a third of the time
libfuzzer  test        wanted    clang,libclang-rt-dev  clang with libFuzzer, for the fuzz targets
TABLE
}

if [ "${1:-}" = has ]; then
    "has_$2"
    exit
fi
who=${1:?usage: setup.sh build|test|has THING}

missing=() required=() packages=()
check() {
    missing=() required=() packages=()
    local thing users need names debs what
    while read -r thing users need names what; do
        [[ ,$users, == *,$who,* ]] || continue
        "has_$thing" && continue
        missing+=("$what")
        [ "$need" = wanted ] || required+=("$what")
        IFS=, read -ra debs <<<"$names"
        packages+=("${debs[@]}")
    done < <(things)
}
list() { printf '    %s\n' "$@"; }

has_jax() { # and the other packages
    "${HILO_PYTHON:-.venv/bin/python}" -c 'import flatbuffers, jax, openai, optax, orbax.checkpoint' 2>/dev/null
}
install_jax() { # without it what needs it is skipped, with a message
    [ "$who" = test ] && ! has_jax && [ -z "${HILO_PYTHON:-}" ] && has_venv || return 0
    echo 'Installing JAX and other packages in .venv, for the tests that need them'
    python3 -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r tests/jax/requirements.txt ||
        echo 'They could not be installed: tests that need them are skipped'
}

check
if [ ${#missing[@]} = 0 ]; then
    install_jax
    exit 0
fi
echo "hilo needs, and this machine lacks:"
list "${missing[@]}"

if ! runs apt-get; then
    echo "Please install them with your system's package manager."
elif [ "$(id -u)" != 0 ]; then
    echo "Please run:"
    list "sudo apt-get install -y ${packages[*]}"
else
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null
    for i in "${!packages[@]}"; do # some releases bring the same things in fewer packages
        apt-cache show "${packages[i]}" >/dev/null 2>&1 || unset "packages[i]"
    done
    echo "Installing the Debian packages ${packages[*]}"
    apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null >/dev/null
    check
    if [ ${#missing[@]} -gt 0 ]; then
        echo "Still missing:"
        list "${missing[@]}"
    fi
fi
install_jax
[ ${#required[@]} = 0 ] # what is only wanted is done without
