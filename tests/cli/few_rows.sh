#!/bin/sh
# Products of few rows (src/lower/matvec.c) by matrices in every form in which weights are stored: the bits of a row do not
# depend on the number of rows, nor on threads; machine code for this processor, and kernels for others by the interpreter,
# compute what the evaluator does.
. "$(dirname "$0")/common.inc"

# numbers FORM LINES GROUPS s|z: the scales or offsets of groups, in f32
numbers() {
    case $1 in
    k*)
        blocks=$2x$(($3 / 4))
        cat <<END
  %$4a = stablehlo.convert %$4 : (tensor<$2x$3xi8>) -> tensor<$2x$3xf32>
  %$4b = stablehlo.reshape %$4a : (tensor<$2x$3xf32>) -> tensor<${blocks}x4xf32>
  %$4c = stablehlo.convert %$4u : (tensor<${blocks}xf16>) -> tensor<${blocks}xf32>
  %$4d = stablehlo.broadcast_in_dim %$4c, dims = [0, 1] : (tensor<${blocks}xf32>) -> tensor<${blocks}x4xf32>
  %$4e = stablehlo.multiply %$4b, %$4d : tensor<${blocks}x4xf32>
  %${4}0 = stablehlo.reshape %$4e : (tensor<${blocks}x4xf32>) -> tensor<$2x$3xf32>
END
        ;;
    *) echo "  %${4}0 = stablehlo.convert %$4 : (tensor<$2x$3xf16>) -> tensor<$2x$3xf32>" ;;
    esac
}

# program FORM ROWS SUM LINES [INTEGER]: the first ROWS of 40 rows times a matrix contiguous along the sum.
# FORM: f32, bf16, i8, or gN and zN: integers of 4 bits in groups of N, with a scale, with a scale and an offset; kN: which are
# integers of 8 bits times a number of 4 groups each; bN: of 8 bits.
# INTEGER: i8 or i16, to which groups of N of the rows are rounded, each with a scale.
program() {
    groups=1
    case $1 in [gzbk][0-9]*) groups=$(($3 / ${1#[gzbk]})) ;; esac
    case $1 in
    f32) args="%w: tensor<$4x$3xf32>" ;;
    bf16 | i8) args="%w: tensor<$4x$3x$1>" ;;
    k[0-9]*) args="%w: tensor<$4x$(($3 / 2))xui8>, %s: tensor<$4x${groups}xi8>, %z: tensor<$4x${groups}xi8>"
        args="$args, %su: tensor<$4x$((groups / 4))xf16>, %zu: tensor<$4x$((groups / 4))xf16>" ;;
    b[0-9]*) args="%w: tensor<$4x$3xi8>, %s: tensor<$4x${groups}xf16>" ;;
    *) args="%w: tensor<$4x$(($3 / 2))xui8>, %s: tensor<$4x${groups}xf16>, %z: tensor<$4x${groups}xf16>" ;;
    esac
    echo "func.func @main(%x: tensor<40x$3xf32>, $args) -> tensor<$2x$4xf32> {"
    echo "  %r = stablehlo.slice %x [0:$2, 0:$3] : (tensor<40x$3xf32>) -> tensor<$2x$3xf32>"
    case $1 in
    f32) echo "  %m = stablehlo.add %w, %w : tensor<$4x$3xf32>" ;;
    bf16 | i8) echo "  %m = stablehlo.convert %w : (tensor<$4x$3x$1>) -> tensor<$4x$3xf32>" ;;
    *)
        type=i4
        case $1 in [zk]*) type=ui4 ;; b*) type=i8 ;; esac
        grouped=$4x${groups}x${1#[gzbk]}
        if [ $type = i8 ]; then
            echo "  %q = stablehlo.reshape %w : (tensor<$4x$3xi8>) -> tensor<${grouped}xi8>"
        else
            cat <<END
  %b = stablehlo.bitcast_convert %w : (tensor<$4x$(($3 / 2))xui8>) -> tensor<$4x$(($3 / 2))x2x$type>
  %q = stablehlo.reshape %b : (tensor<$4x$(($3 / 2))x2x$type>) -> tensor<${grouped}x$type>
END
        fi
        cat <<END
  %f = stablehlo.convert %q : (tensor<${grouped}x$type>) -> tensor<${grouped}xf32>
$(numbers $1 $4 $groups s)
  %s1 = stablehlo.broadcast_in_dim %s0, dims = [0, 1] : (tensor<$4x${groups}xf32>) -> tensor<${grouped}xf32>
  %p = stablehlo.multiply %f, %s1 : tensor<${grouped}xf32>
END
        [ $type = ui4 ] && cat <<END
$(numbers $1 $4 $groups z)
  %z1 = stablehlo.broadcast_in_dim %z0, dims = [0, 1] : (tensor<$4x${groups}xf32>) -> tensor<${grouped}xf32>
  %o = stablehlo.add %p, %z1 : tensor<${grouped}xf32>
END
        echo "  %m = stablehlo.reshape $([ $type = ui4 ] && echo %o || echo %p) :" \
            "(tensor<${grouped}xf32>) -> tensor<$4x$3xf32>"
        ;;
    esac
    if [ "$5" ]; then
        grouped=$2x${groups}x${1#[gzbk]}
        cat <<END
  %r0 = stablehlo.reshape %r : (tensor<$2x$3xf32>) -> tensor<${grouped}xf32>
  %a = stablehlo.abs %r0 : tensor<${grouped}xf32>
  %none = stablehlo.constant dense<1.0e-30> : tensor<f32>
  %most = stablehlo.reduce(%a init: %none) applies stablehlo.maximum across dimensions = [2]
    : (tensor<${grouped}xf32>, tensor<f32>) -> tensor<$2x${groups}xf32>
  %limit = stablehlo.constant dense<$(($([ "$5" = i8 ] && echo 127 || echo 32767))).0> : tensor<$2x${groups}xf32>
  %u = stablehlo.divide %most, %limit : tensor<$2x${groups}xf32>
  %u1 = stablehlo.broadcast_in_dim %u, dims = [0, 1] : (tensor<$2x${groups}xf32>) -> tensor<${grouped}xf32>
  %d = stablehlo.divide %r0, %u1 : tensor<${grouped}xf32>
  %e = stablehlo.round_nearest_even %d : tensor<${grouped}xf32>
  %i = stablehlo.convert %e : (tensor<${grouped}xf32>) -> tensor<${grouped}x$5>
  %i1 = stablehlo.convert %i : (tensor<${grouped}x$5>) -> tensor<${grouped}xf32>
  %r1 = stablehlo.multiply %i1, %u1 : tensor<${grouped}xf32>
  %r2 = stablehlo.reshape %r1 : (tensor<${grouped}xf32>) -> tensor<$2x$3xf32>
END
    fi
    echo "  %y = stablehlo.dot_general %r${5:+2}, %m, contracting_dims = [1] x [1]" \
        ": (tensor<$2x$3xf32>, tensor<$4x$3xf32>) -> tensor<$2x$4xf32>"
    echo "  return %y : tensor<$2x$4xf32>"
    echo "}"
}

flags='--batch-invariant'
# rows FORM SUM LINES [INTEGER]
rows() {
    many=$([ "$4" = i8 ] && echo 40 || :) # products of bytes are those of few rows with any number of them
    for n in 16 1 3 5 8 9 $many; do
        program "$1" $n "$2" "$3" "$4" >rows.mlir
        for threads in 1 3; do
            exits 0 run rows.mlir $flags --input random:3 --threads $threads --compare reference --tolerance 1e-5 \
                -o $n.$threads.npy
            tail -c +129 $n.$threads.npy >$n.$threads.bits
        done
        cmp -s $n.1.bits $n.3.bits && pass || fail "$*: other bits for other threads, $n rows"
        least=$((n < 16 ? n : 16))
        head -c $((4 * least * $3)) 16.1.bits >few.bits
        head -c $((4 * least * $3)) $n.1.bits | cmp -s - few.bits && pass ||
            fail "$*: rows of $n have other bits than those of 16"
        case $n in 3 | 9 | 40) ;; *) continue ;; esac
        for cpu in x86-64-v3 sapphirerapids lunarlake neoverse-v1; do
            exits 0 run rows.mlir $flags --input random:3 --backend interpreter --target-cpu $cpu \
                --compare reference --tolerance 1e-5
        done
    done
}

# on_gpu FORM SUM LINES: the same by kernels for GPUs, whose products of more rows have tiles
on_gpu() {
    for n in 16 1 8; do
        program "$1" $n "$2" "$3" >rows.mlir
        exits 0 run rows.mlir $flags --input random:3 --backend interpreter --target-cpu sm_80 --compare reference \
            --tolerance 1e-5 -o $n.npy
        tail -c +129 $n.npy >$n.bits
        head -c $((4 * n * $3)) 16.bits | cmp -s - $n.bits && pass ||
            fail "$* on a GPU: rows of $n have other bits than those of 16"
    done
}

needs_code_generator

# dots SUM LINES [INTEGER [CPU [OP]]]: products of four bytes, or OP, in the kernels of two products with the same 16 rows
dots() {
    program g32 16 "$1" "$2" "$3" | sed -E -e '/^  %(b|q|f|s0|s1|p|z0|z1|o|m|y) =/{p;s/%([bqfpmowsyz]|[sz][01])\>/%\1b/g}' \
        -e 's/%w: ([^,]*), %s: ([^,]*), %z: ([^)]*)\)/%w: \1, %s: \2, %z: \3, %wb: \1, %sb: \2, %zb: \3)/' \
        -e "s/^  return %y/  %both = stablehlo.multiply %y, %yb : tensor<16x$2xf32>\n  return %both/" >rows.mlir
    exits 0 compile rows.mlir $flags --emit kir --target-cpu ${4:-sapphirerapids} -o rows.kir
    grep -cw "${5:-dot4}" rows.kir
}

rows f32 300 40
rows f32 4096 64 # enough terms for split-K, if it were allowed
rows f32 70 33   # so few products that they do not pay for a GEMV
rows bf16 416 33
rows i8 256 40
rows g32 1024 19
rows g16 512 16
rows g8 384 24
rows z32 1024 17
rows g32 1024 19 i16
rows g32 1024 19 i8
rows z32 1024 17 i16
rows z32 1024 17 i8
rows k32 1024 17 i8
rows k16 512 17 i8
rows k32 1024 17
rows b32 1024 19 i8
rows b16 256 33 i8
# lines that are no whole iterations, that are shorter than one, and few of them
rows g32 352 19
rows z32 352 17 i16
rows i8 352 12
rows g32 96 5
rows f32 40 3
on_gpu f32 300 40
on_gpu f32 70 33
on_gpu bf16 416 33
on_gpu i8 256 40
on_gpu z32 2048 9
on_gpu z32 352 9
on_gpu f32 40 3
three=$(dots 1024 19)
[ "$(dots 352 19)" -gt 0 ] && pass || fail "lines that are no whole iterations are not multiplied by bytes"
[ "$three" -gt 0 ] && [ $((2 * three)) = $((3 * $(dots 1024 19 i16))) ] && [ "$three" = $((3 * $(dots 1024 19 i8))) ] &&
    pass || fail "rows of 16 and 8 bits: not two thirds and one third of the products of $three"

[ "$(dots 1024 19 i8 x86-64-v3 dot2_i8)" -gt 0 ] && [ "$(dots 1024 19 i16 x86-64-v3 dot2_i8)" = 0 ] && pass ||
    fail "x86-64-v3: rows of 8 bits are not multiplied by sums of 16 bits"
# What an iteration of many rows reads next is prefetched for every processor, once: of each matrix the two cache lines that
# words (b5) fill and that of their scales (b6), and those in which they end where they begin within another. Small results are
# prefetched by the torture build alone.
[ "$(dots 1024 19 i8 x86-64-v3 'prefetch b[56]')" = 10 ] && pass ||
    fail "x86-64-v3: what many rows read next is not prefetched once"
# Their results, where they are larger than the L2 cache, are prefetched some rows ahead: once.
program g32 40 256 16384 i8 >many.mlir
exits 0 compile many.mlir $flags --emit kir --target-cpu x86-64-v3
[ "$(grep -c "prefetch $(grep -o 'b[0-9]*: out' out | tail -1 | cut -d: -f1)\[" out)" = 1 ] && pass ||
    fail "results of many rows: not prefetched once"
# One row: two cache lines of words, their scales and offsets, 1 KiB ahead, of each of two lines 32 KiB apart.
for form in g32 z32 k32; do
    program $form 1 2048 512 i8 >rows.mlir
    exits 0 compile rows.mlir $flags --emit kir --target-cpu x86-64-v3
    [ "$(grep -c prefetch out)" = $([ $form = g32 ] && echo 6 || echo 8) ] && pass || fail "$form: prefetched otherwise"
    [ "$(grep -B 2 'prefetch b' out | grep -cE 'add %[0-9]*, (256|8448)$')" = 2 ] && pass || fail "$form: not 1 KiB ahead"
done

cat >nine.mlir <<'END'
func.func @main(%x: tensor<9x256xf32>, %w: tensor<48x256xf32>) -> tensor<9x48xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<9x256xf32>, tensor<48x256xf32>) -> tensor<9x48xf32>
  return %y : tensor<9x48xf32>
}
END
for cpu in x86-64-v3 sapphirerapids neoverse-v1; do # no row is computed twice
    exits 0 explain nine.mlir $flags --run --runs 1 --backend interpreter --target-cpu $cpu
    n=$(sed -n 's/.*fma \([0-9]*\),.*/\1/p' out)
    [ "$n" = 110592 ] && pass || fail "$n multiply-adds for 9 rows on $cpu"
done
# Prefetched is what follows 2 KiB later, however long a line is, for processors whose record says so.
for n in 1024 8192; do
    cat >ahead.mlir <<END
func.func @main(%x: tensor<1x${n}xf32>, %w: tensor<512x${n}xf32>) -> tensor<1x512xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<1x${n}xf32>, tensor<512x${n}xf32>) -> tensor<1x512xf32>
  return %y : tensor<1x512xf32>
}
END
    exits 0 compile ahead.mlir --emit kir --target-cpu x86-64-v4
    grep -B 1 'prefetch b' out | head -1 | grep -q 'add %[0-9]*, 512$' && pass || fail "lines of $n: not prefetched 2 KiB ahead"
    exits 0 compile ahead.mlir --emit kir --target-cpu x86-64-v3
    grep -q prefetch out && fail "lines of $n: prefetched for x86-64-v3" || pass
done

# Beyond 16 rows, too, they are added in one way, however many there are: prompts may be read together. So few columns with so
# many terms would else be split.
for n in 32 256; do
    cat >many.mlir <<END
func.func @main(%x: tensor<256x4096xf32>, %w: tensor<128x4096xf32>) -> tensor<${n}x128xf32> {
  %r = stablehlo.slice %x [0:$n, 0:4096] : (tensor<256x4096xf32>) -> tensor<${n}x4096xf32>
  %y = stablehlo.dot_general %r, %w, contracting_dims = [1] x [1]
    : (tensor<${n}x4096xf32>, tensor<128x4096xf32>) -> tensor<${n}x128xf32>
  return %y : tensor<${n}x128xf32>
}
END
    exits 0 run many.mlir $flags --input random:3 -o $n.npy
    tail -c +129 $n.npy | head -c $((4 * 32 * 128)) >$n.bits
done
cmp -s 32.bits 256.bits && pass || fail "rows of 256 have other bits than those of 32"
finish
