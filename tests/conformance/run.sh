#!/usr/bin/env bash
# run.sh [FOLDER...]: runs $HILO over the conformance material, or over these folders of it. It is
# next to the project, in ../shared or where HILO_SHARED points; where it is absent, its cases count as
# skipped.
set -uo pipefail
HILO=$(realpath "${HILO:?the hilo command to test}")
cd "$(dirname "$0")/../.." || exit
shared=${HILO_SHARED:-../shared}

folders=(interpret testdata math invalid valid workloads)
declare -A cases=(
    [interpret]=374 [testdata]=1633 [math]=23 [invalid]=423 [valid]=131 [workloads]=93
)
passed=0 failed=0 skipped=0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A program that was read and printed reads and prints as itself.
reprint() {
    "$HILO" opt "$1" >"$scratch/1.mlir" && "$HILO" opt "$scratch/1.mlir" >"$scratch/2.mlir" &&
        cmp "$scratch/1.mlir" "$scratch/2.mlir"
}

[ $# = 0 ] || folders=("$@")
for folder in "${folders[@]}"; do
    dir=$shared/conformance/$folder
    [ "$folder" != workloads ] || dir=$shared/workloads
    if [ ! -d "$dir" ]; then
        echo "skipped: $dir is not there"
        skipped=$((skipped + cases[$folder]))
    elif [ "$folder" = workloads ]; then
        for file in "$dir"/*.mlir; do
            if reprint "$file"; then
                passed=$((passed + 1))
            else
                echo "$file: does not print as itself; see: hilo opt $file"
                failed=$((failed + 1))
            fi
        done
    else
        out=$("$HILO" check "$dir"/*.mlir 2>&1)
        status=$?
        printf '%s\n' "$out"
        if [[ ${out##*$'\n'} =~ ^([0-9]+)' passed, '([0-9]+)' failed' ]]; then
            passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
            [ "${BASH_REMATCH[2]}" = 0 ] || status=0
        else
            status="$status and without its totals"
        fi
        if [ "$status" != 0 ]; then
            echo "$folder: hilo check ended with status $status"
            failed=$((failed + 1))
        fi
    fi
done

if [ "$skipped" = 0 ]; then
    echo "$passed passed, $failed failed"
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" = 0 ]
