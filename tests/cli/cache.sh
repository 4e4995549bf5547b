#!/bin/sh
# The compile cache as the command uses it; tests/compile/test_cache.c has the rest.
. "$(dirname "$0")/common.inc"

cat >add.mlir <<'MLIR'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
MLIR
HILO_CACHE_DIR=
HILO_TIER=optimised # else what is written is written once runs have taken long enough
export HILO_CACHE_DIR HILO_TIER
exits 3 cache
says 'there is no compile cache'
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":false'
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":false'
exits 0 compile add.mlir --emit plan
if ! grep -q kernel0 out; then # nothing to generate code with
    finish
    exit
fi

HILO_CACHE_DIR=$dir/a/b/cache
exits 0 cache path
prints "$dir/a/b/cache"
exits 0 cache
says '0 programs'
exits 0 run add.mlir --no-cache --input 2xf32=1
[ ! -e a ] && pass || fail 'something was kept'
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":false'
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":true'
exits 0 run add.mlir --input 2xf32=1 --timing 1
says 'from the compile cache'
exits 0 run add.mlir --input 2xf32=1.5
prints '0: tensor<2xf32> = [3.0, 3.0]'
exits 0 run -O1 add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":false'
exits 0 cache list
says '2 programs'
exits 2 cache lis
exits 2 run add.mlir --entry other
exits 3 run absent.mlir

# ---- a file that is damaged is a warning
for file in a/b/cache/*.hilo; do
    printf 'nothing' >"$file"
done
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":false' 'warning: compile cache' 'not a .hilo file'
exits 0 run add.mlir --input 2xf32=1 --timing 1 --json
says '"cached":true'
! grep -q 'hilo: ' err && pass || fail 'no message was expected'

# ---- a directory that cannot be made is a warning where it was named
HILO_CACHE_DIR=/dev/null/cache
exits 0 run add.mlir --input 2xf32=1
says "warning: compile cache: cannot"
unset HILO_CACHE_DIR
XDG_CACHE_HOME=/dev/null
export XDG_CACHE_HOME
exits 0 run add.mlir --input 2xf32=1
! grep -q 'hilo: ' err && pass || fail 'no message was expected'

HILO_CACHE_DIR=$dir/a/b/cache
export HILO_CACHE_DIR
exits 0 cache clear
says 'programs deleted'
exits 0 cache
says '0 programs'
finish
