#!/usr/bin/env bash
# install.sh BUILD: installs into an empty prefix and uses what is there, as a stranger would.
set -uo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cd "$prefix" || exit

passed=0 failed=0
try() { # WHAT COMMAND...
    local what=$1 out
    shift
    if out=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        printf '%s\n' "failed: $what: $*" "$out"
        failed=$((failed + 1))
    fi
}

CC=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
try 'install' cmake --install "$build" --strip --prefix "$prefix"
try 'move' mv "$prefix" "$prefix.moved" # everything must find itself by its own place
prefix=$prefix.moved
cd "$prefix" || exit
lib=$(dirname "$(find "$prefix" -name libhilo.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib

for file in bin/hilo include/hilo.h share/man/man1/hilo.1 share/bash-completion/completions/hilo; do
    try 'installed' test -f "$file"
done
try 'command' bin/hilo --version
try 'completion' bash -n share/bash-completion/completions/hilo

warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only)
try 'hilo.h as C11' "$CC" -std=c11 "${warnings[@]}" -x c include/hilo.h
try 'hilo.h as C++17' c++ -std=c++17 "${warnings[@]}" -x c++ include/hilo.h

sed -n '/^ \*     #include/,/^ \*     }$/s/^ \*     \{0,1\}//p' include/hilo.h >complete.c
try 'the program in hilo.h as C11' "$CC" -std=c11 "${warnings[@]}" -Iinclude complete.c
try 'the program in hilo.h as C++17' c++ -std=c++17 "${warnings[@]}" -Iinclude -x c++ complete.c

# shellcheck disable=SC2046 # the flags are words
{
    try 'pkg-config, shared' "$CC" "$here/app.c" -o shared $(pkg-config --cflags --libs hilo)
    try 'pkg-config, runtime' "$CC" "$here/app.c" -o runtime $(pkg-config --cflags --libs hilo-runtime)
    try 'pkg-config, static' "$CC" "$here/app.c" -o static $(pkg-config --cflags hilo) \
        "$lib/libhilo.a" $(pkg-config --static --libs hilo | sed 's/-lhilo//')
}
try 'shared program' ./shared
try 'runtime program' ./runtime
try 'runtime alone' sh -c "! ldd ./runtime | grep -q 'libhilo\.so'"
for limit in libhilo.so=3500000 libhilo-runtime.so=1000000; do
    try "${limit%=*} is small" sh -c "[ \$(stat -Lc %s '$lib/${limit%=*}') -le ${limit#*=} ]"
done
try 'static program' env -u LD_LIBRARY_PATH ./static

cp -r "$here/../../examples" .
try 'examples/c' make -C examples/c CC="$CC"
try 'classify' sh -c 'cd examples/c && ./classify | grep "^349 of 355 "'

try 'custom call' sh -c 'examples/c/custom_call | grep -x "2 4 5 -5"'
try 'chat' sh -c "echo 'Continue: Licensed under the Apache' | examples/c/chat '$here/../llm/tiny-llama' | grep License"

try 'find_package' cmake -S "$here" -B app -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
try 'build with CMake' cmake --build app
try 'CMake, shared' app/app_shared
try 'CMake, runtime' app/app_runtime
try 'CMake, static' env -u LD_LIBRARY_PATH app/app_static

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
