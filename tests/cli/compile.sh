#!/bin/sh
# hilo compile: forms, and files that are refused.
. "$(dirname "$0")/common.inc"

cat >add.mlir <<'MLIR'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
MLIR
exits 0 compile add.mlir --emit plan
says 'plan of'
exits 0 compile add.mlir --emit plan -o -
says 'plan of'
[ ! -e ./- ] && pass || fail 'a file was written'
exits 0 compile add.mlir --emit stablehlo -o out.mlir
exits 0 run out.mlir --input 2xf32=1,2
says '[2.0, 4.0]'
exits 0 compile add.mlir --backend reference -o add.hilo
exits 0 run add.hilo --input 2xf32=1,2
says '[2.0, 4.0]'
exits 2 compile add.hilo --emit stablehlo
says 'holds compiled code, not a program'
exits 1 compile add.mlir --backend interpreter -o interpreted.hilo
says 'is interpreted'
[ ! -e interpreted.hilo ] && pass || fail 'a file was left'
cat >dynamic.mlir <<'MLIR'
func.func @main(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.add %x, %x : tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
MLIR
exits 0 compile dynamic.mlir -o dynamic.hilo
exits 0 run dynamic.hilo --input 3x2xf32=1
says 'tensor<3x2xf32>'
exits 2 run dynamic.hilo --input 3x3xf32=1
# what the evaluator does and what kernels do in one plan; weights of a step that does not need them are not in its program
cat >custom.mlir <<'MLIR'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = stablehlo.constant dense_resource<w> : tensor<4xf32>
  %0 = stablehlo.add %x, %w : tensor<4xf32>
  %1 = stablehlo.custom_call @unknown(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x400000000000803F000000400000404000008040"
    }
  }
#-}
MLIR
exits 0 compile custom.mlir -o custom.hilo
grep -q '@unknown' custom.hilo && pass || fail 'the program of a step is not in the file'
! grep -q 'dialect_resources' custom.hilo && pass || fail 'constants are in the file twice'
exits 1 run custom.hilo --input 4xf32=1
says "'unknown', which is not built in"
exits 2 compile add.mlir --emit plam
says 'did you mean plan?'
exits 2 compile add.mlir --entry other --emit plan
exits 3 compile absent.mlir --emit plan
exits 3 run absent.hilo
printf 'no program' >bad.hilo
exits 1 run bad.hilo
says 'not a .hilo file'

# ---- what is one kernel
kernels() { # NUMBER FILE
    exits 0 compile "$2" --emit plan
    n=$(grep -c ' kernel kernel' out)
    [ "$n" = "$1" ] && pass || usual fail "$n kernels in $2, expected $1"
    ! grep -q ' reference \| routine ' out && pass || fail "a step of $2 is no kernel"
}
cat >softmax.mlir <<'MLIR'
func.func @main(%x: tensor<9x99xf32>) -> tensor<9x99xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
       : (tensor<9x99xf32>, tensor<f32>) -> tensor<9xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<9xf32>) -> tensor<9x99xf32>
  %d = stablehlo.subtract %x, %mb : tensor<9x99xf32>
  %e = stablehlo.exponential %d : tensor<9x99xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
       : (tensor<9x99xf32>, tensor<f32>) -> tensor<9xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x99xf32>
  %r = stablehlo.divide %e, %sb : tensor<9x99xf32>
  return %r : tensor<9x99xf32>
}
MLIR
cat >dense.mlir <<'MLIR'
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x32xf32>
  %z = stablehlo.constant dense<0.0> : tensor<8x32xf32>
  %3 = stablehlo.maximum %2, %z : tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}
MLIR
cat >loop.mlir <<'MLIR'
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<16xf32>
    cond { %n = stablehlo.constant dense<10> : tensor<i32>
           %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %t : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
         %j = stablehlo.add %i, %one : tensor<i32>
         %w = stablehlo.add %v, %v : tensor<16xf32>
         stablehlo.return %j, %w : tensor<i32>, tensor<16xf32> }
  return %0#1 : tensor<16xf32>
}
MLIR
cat >siblings.mlir <<'MLIR'
func.func @main(%x: tensor<64x300xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x300xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<64x300xf32>, tensor<f32>) -> tensor<64xf32>
  %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1]
       : (tensor<64x300xf32>, tensor<f32>) -> tensor<64xf32>
  %q = stablehlo.multiply %x, %x : tensor<64x300xf32>
  %v = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<64x300xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.tanh %x : tensor<64x300xf32>
  return %s, %m, %v, %t : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x300xf32>
}
MLIR
# another value, other rows, and what waits for the first
cat >cousins.mlir <<'MLIR'
func.func @main(%x: tensor<80x80xf32>, %y: tensor<80x80xf32>) -> (tensor<80xf32>, tensor<80xf32>, tensor<80x80xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<80x80xf32>, tensor<f32>) -> tensor<80xf32>
  %v = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<80x80xf32>, tensor<f32>) -> tensor<80xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<80xf32>) -> tensor<80x80xf32>
  %t = stablehlo.add %x, %b : tensor<80x80xf32>
  return %s, %v, %t : tensor<80xf32>, tensor<80xf32>, tensor<80x80xf32>
}
MLIR
cat >two.mlir <<'MLIR'
func.func @main(%x: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<32x32xf32>
  %d = stablehlo.dot_general %e, %x, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %a = stablehlo.add %d, %x : tensor<32x32xf32>
  %t = stablehlo.tanh %x : tensor<32x32xf32>
  %b = stablehlo.transpose %t, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1]
       : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %a, %b, %r : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>
}
MLIR
# two results of one chain
cat >united.mlir <<'MLIR'
func.func @main(%x: tensor<50x40xf32>, %y: tensor<50x40xf32>) -> (tensor<50x40xf32>, tensor<50x40xf32>) {
  %a = stablehlo.add %x, %y : tensor<50x40xf32>
  %b = stablehlo.multiply %a, %y : tensor<50x40xf32>
  %c = stablehlo.add %a, %b : tensor<50x40xf32>
  %d = stablehlo.multiply %b, %c : tensor<50x40xf32>
  return %c, %d : tensor<50x40xf32>, tensor<50x40xf32>
}
MLIR
# the same, but what reads the first is read by the second, so that the first stores what both compute
cat >apart.mlir <<'MLIR'
func.func @main(%x: tensor<40x40xf32>, %y: tensor<40x40xf32>) -> (tensor<40x40xf32>, tensor<40x40xf32>) {
  %a = stablehlo.multiply %x, %y : tensor<40x40xf32>
  %c = stablehlo.add %a, %x : tensor<40x40xf32>
  %p = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %q = stablehlo.dot_general %p, %p, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %d = stablehlo.multiply %a, %q : tensor<40x40xf32>
  return %c, %d : tensor<40x40xf32>, tensor<40x40xf32>
}
MLIR
# a root of a few numbers for many elements
cat >spread.mlir <<'MLIR'
func.func @main(%x: tensor<2000x64xf32>, %v: tensor<64xf32>) -> tensor<2000x64xf32> {
  %r = stablehlo.rsqrt %v : tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<64xf32>) -> tensor<2000x64xf32>
  %0 = stablehlo.multiply %x, %b : tensor<2000x64xf32>
  return %0 : tensor<2000x64xf32>
}
MLIR
cat >columns.mlir <<'MLIR'
func.func @main(%x: tensor<32x784xf32>, %w: tensor<784x512xf32>) -> tensor<32x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<32x784xf32>, tensor<784x512xf32>) -> tensor<32x512xf32>
  return %0 : tensor<32x512xf32>
}
MLIR
cat >eight.mlir <<'MLIR'
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
MLIR
cat >eight_large.mlir <<'MLIR'
func.func @main(%x: tensor<8x768xf32>, %w: tensor<768x3072xf32>) -> tensor<8x3072xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<8x768xf32>, tensor<768x3072xf32>) -> tensor<8x3072xf32>
  return %0 : tensor<8x3072xf32>
}
MLIR
cat >transposed.mlir <<'MLIR'
func.func @main(%x: tensor<32x10xf32>, %w: tensor<64x10xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<32x10xf32>, tensor<64x10xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
MLIR
cat >groups.mlir <<'MLIR'
func.func @main(%x: tensor<64x8x4xf32>, %y: tensor<8xf32>) -> tensor<64x8x4xf32> {
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<64x8x4xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<64x8x4xf32>
  return %1 : tensor<64x8x4xf32>
}
MLIR
if "$HILO" compile add.mlir --emit plan | grep -q kernel0; then # there is something to generate code with
    kernels 1 softmax.mlir
    kernels 1 dense.mlir
    kernels 1 loop.mlir

    kernels 1 siblings.mlir
    kernels 3 cousins.mlir
    kernels 1 united.mlir
    kernels 3 apart.mlir
    kernels 2 spread.mlir

    # columns of few rows are packed while the first tile of rows is multiplied by them: no loop does that alone
    exits 0 compile columns.mlir --target-cpu x86-64-v4 --emit kir
    [ "$(grep -c 'loop vector' out)" = 1 ] && pass || usual fail 'columns are packed by themselves'
    # eight rows are two tiles of four, not two of six that overlap; a matrix beyond the cache is packed for the second one
    exits 0 compile eight.mlir --target-cpu x86-64-v4 --emit kir
    grep -q 'reg 4,' out && ! grep -q 'min\|scratch' out && pass || usual fail 'rows are computed twice'
    exits 0 compile eight_large.mlir --target-cpu x86-64-v4 --emit kir
    grep -q scratch out && pass || fail 'a large matrix is read for each tile of rows'
    # columns along a short sum are transposed, even if they are few
    exits 0 compile transposed.mlir --target-cpu x86-64-v4 --emit kir
    grep -q scratch out && pass || fail 'columns are not packed'

    # a dimension that fills no register is computed together with the one before it
    exits 0 compile groups.mlir --target-cpu x86-64-v4 --emit kir
    grep -q 'loop vector 32 by 32' out && pass || fail 'lines of four elements fill no register'

    # why values are materialised, in plans
    exits 0 compile softmax.mlir --emit plan
    says 'row-wise, 7 ops; materialised: result'
    exits 0 compile two.mlir --emit plan
    says 'loop, 1 op; materialised: operand of a contraction' \
        'contraction, 2 ops; materialised: result' 'loop, 1 op; materialised: several users'
    exits 0 compile two.mlir -O1 --emit plan
    says 'materialised: optimisation level'
fi

# ---- forms of kernels, for this processor and others
if "$HILO" compile add.mlir --emit plan | grep -q kernel0; then
    exits 0 compile add.mlir --emit kir -o kernels.kir
    exits 0 kir kernels.kir
    says 'kernel0'
    exits 0 compile add.mlir --emit llvm
    says 'define void @kernel0'
    exits 0 compile dense.mlir --emit asm --target-cpu sapphirerapids
    says 'kernel0:' 'zmm'
    exits 0 compile dense.mlir --emit asm --target-cpu x86-64-v2
    says 'kernel0:'
    ! grep -q 'ymm\|zmm' out && pass || fail 'wide registers for a processor without them'
    # the constants of what follows a product leave its sums in registers: the loop over its terms, four at once for twelve
    # sums, has no access to the stack
    type='tensor<384x512xf32>' value='%x'
    {
        echo "func.func @main(%a: tensor<384x384xf32>, %b: tensor<384x512xf32>) -> $type {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
              : (tensor<384x384xf32>, tensor<384x512xf32>) -> $type
          %x = stablehlo.exponential %0 : $type"
        for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
            echo "%c$i = stablehlo.constant dense<1.$i> : $type
                %d$i = stablehlo.subtract %c$i, $value : $type
                %l$i = stablehlo.compare LT, %0, %c$i : ($type, $type) -> tensor<384x512xi1>
                %s$i = stablehlo.select %l$i, %d$i, $value : tensor<384x512xi1>, $type"
            value=%s$i
        done
        echo "return $value : $type }"
    } >epilogue.mlir
    exits 0 compile epilogue.mlir --emit asm --target-cpu x86-64-v3
    awk '/^\.LBB/ { sums = stack = 0; label = $1 }
         /vfmadd/ { sums++ }
         /mm.*rsp|rsp.*mm/ { stack++ }
         /\tj/ && $2 ":" == label && sums == 48 { loops++; spills += stack }
         END { exit !(loops == 1 && spills == 0) }' out && pass || usual fail 'the sums of a product are spilled'
    # the loads of a window's taps, more than there are registers, are not all begun before the products
    x='tensor<1x32x14x14xf32>' w='tensor<32x1x3x3xf32>' y='tensor<1x32x7x7xf32>'
    echo "func.func @main(%x: $x, %w: $w) -> $y {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
          window = {stride = [2, 2], pad = [[1, 0], [1, 0]]} {feature_group_count = 32 : i64, batch_group_count = 1 : i64}
          : ($x, $w) -> $y
      return %0 : $y }" >depthwise.mlir
    exits 0 compile depthwise.mlir --emit asm --target-cpu x86-64-v3
    [ "$(grep -c 'mm.*rsp\|rsp.*mm' out)" -lt 20 ] && pass || fail 'what the taps of a window load is spilled'
    # rows of seven are stored as vectors of eight, but for the last one
    [ "$(grep -c 'vmovups.*%xmm[0-9]*, .*(%r' out)" = 2 ] && pass || usual fail 'rows are stored in parts'
    cat >units.mlir <<'MLIR'
func.func @main(%a: tensor<200x700xbf16>, %b: tensor<700x150xbf16>) -> tensor<200x150xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<200x700xbf16>, tensor<700x150xbf16>) -> tensor<200x150xf32>
  return %0 : tensor<200x150xf32>
}
MLIR
    exits 0 compile units.mlir --emit asm --target-cpu sapphirerapids
    says 'ldtilecfg' 'tilerelease'
    [ "$(grep -c tdpbf16ps out)" = 4 ] && pass || fail 'not four products per iteration'
    exits 0 run units.mlir --input random:1 --backend interpreter --target-cpu sapphirerapids \
        --compare reference --tolerance 1e-5
    exits 0 compile units.mlir --emit asm --target-cpu znver4
    says 'vdpbf16ps'
    ! grep -q 'vfmadd' out && pass || fail 'bf16 is multiplied as f32'
    exits 0 run units.mlir --input random:1 --backend interpreter --target-cpu znver4 --compare reference --tolerance 1e-5
    sed 's/bf16/i8/g; s/f32/i32/g' units.mlir >bytes.mlir
    exits 0 compile bytes.mlir --emit asm --target-cpu lunarlake
    says 'vpdpbssd'
    exits 0 compile bytes.mlir --emit asm --target-cpu alderlake
    says 'vpdpbusd'
    exits 0 compile bytes.mlir --emit asm --target-cpu neoverse-v1
    says 'sdot'
    exits 0 compile add.mlir --emit object -o add.o
    [ "$(head -c 4 add.o | tail -c 3)" = ELF ] && pass || fail 'no object file'
    exits 0 compile add.mlir --emit object --target-cpu native -o native.o
    cmp -s add.o native.o && pass || fail 'native is not the default'
    exits 0 compile add.mlir --target-cpu generic -o generic.hilo
    case $(uname -m) in x86_64) other=aarch64 ;; *) other=x86-64-v3 ;; esac
    exits 0 run generic.hilo --input 2xf32=1,2
    says '[2.0, 4.0]'
    exits 0 compile add.mlir --target-cpu $other -o other.hilo
    exits 1 run other.hilo --input 2xf32=1,2
    says '.hilo file: for '
    exits 2 compile add.mlir --target-cpu 386 --emit asm
    says 'sapphirerapids'
    exits 2 run add.mlir --input 2xf32=1,2 --target-cpu 386
    says "no target is named '386'" 'sapphirerapids'
    exits 1 compile dynamic.mlir --emit asm
    says 'it is evaluated'
    # what libhilo-runtime cannot load is a warning, or an error
    exits 0 compile dynamic.mlir -o dynamic.hilo
    says 'warning: libhilo-runtime cannot load the executable' 'dynamic shapes'
    exits 1 compile dynamic.mlir -o dynamic.hilo --runtime-only
    says 'libhilo-runtime cannot load the executable'
    exits 0 compile add.mlir -o add.hilo --runtime-only
    if grep -q . err; then fail 'no warning was expected'; else pass; fi
    exits 2 compile add.mlir --emit asm --entry other
fi

# ---- a resource that is missing is an error where it is wanted
cat >missing.mlir <<'MLIR'
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense_resource<absent> : tensor<2xf32>
  %0 = stablehlo.add %x, %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}
MLIR
exits 1 run missing.mlir --input 2xf32=1,2
says "lacks the resource 'absent'"

finish
