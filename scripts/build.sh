#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures the preset where that is still to be done, and builds the
# targets, or all.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
dir=build
[ "$preset" = release ] || dir=build/$preset

# Changed presets and newly installed packages call for a new configuration; CMake sees to the rest.
stamp=$dir/.configured
newer() { find CMakePresets.json build/.setup-* -newer "$stamp" 2>/dev/null; }
if [ ! -f "$stamp" ] || [ -n "$(newer)" ]; then
    if command -v ninja >/dev/null; then
        export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"
    fi
    cmake --preset "$preset" --log-level=NOTICE >/dev/null
    touch "$stamp"
fi
cmake --build "$dir" --parallel "${JOBS:-$(nproc)}" ${1+--target "$@"}
