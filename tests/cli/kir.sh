#!/bin/sh
# hilo kir.
. "$(dirname "$0")/common.inc"

exits 0 kir "$root/tests/kir/loops.kir"
cp out printed.kir
exits 0 kir printed.kir
same printed.kir 'printed and read'

exits 0 kir --passes=clean "$root/tests/kir/clean.kir"
prints 'kernel dead(b0: in f32[8], b1: out f32[8]) {
    %1: f32 = reg 1, 1.000000e+00:f32
    %2 = loop serial 8 {
        %3: f32 = load b0[%2]
        acc.add %1, %3
    }
    %4: f32 = get %1
    %5 = loop vector 8 by 4 {
        store b1[%5], %4
    }
}'

# Passes: the list is checked, each can be run alone and seen.
echo 'kernel folds(b0: in f32[8], b1: out f32[8]) {
    %1 = loop serial 8 {
        %2: i64 = add 3, 4
        %3: i64 = mul %2, %2
        %4: i64 = mul %1, 1
        %5: f32 = load b0[%4]
        store b1[%1], %5
    }
}' >folds.kir
exits 0 kir --passes=fold,clean --dump folds.kir
says '// after fold' '// after clean' 'load b0[%1]'
if sed -n '/after clean/,$p' out | grep -q 'add\|mul'; then fail 'constants and products by 1 are left'; else pass; fi
exits 0 kir --passes=fold --run folds.kir
exits 2 kir --passes=clean,folds folds.kir
says 'expected fold, split, expand-math, clean'

# A concatenation: each part of the loop knows which operand it reads. Boundaries within a step of lanes stay.
echo 'kernel join(b0: in f32[64], b1: in f32[20], b2: in i32[1], b3: out f32[84]) {
    %1 = loop vector 84 by 8 {
        %2: i1 = cmp.lt %1, 64
        %3: i32 = load b2[0] when %2 else 0:i32
        %4: i64 = convert %3
        %5: i64 = min %4, 0
        %6: i64 = max %5, 0
        %7: i64 = add %1, %6
        %8: f32 = load b0[%7] when %2 else 0.0:f32
        %9: i64 = add %1, -64
        %10: i1 = cmp.ge %9, 0
        %11: f32 = load b1[%9] when %10 else 0.0:f32
        %12: f32 = select %2, %8, %11
        %13: i1 = cmp.gt %1, 83
        %14: f32 = select %13, 0.0:f32, %12
        store b3[%1], %14
    }
}' >join.kir
exits 0 kir --run --seed 3 join.kir
exits 0 kir --passes=split,clean --run --seed 3 join.kir
if grep -q differ out; then fail 'machine code differs'; else pass; fi
exits 0 kir --passes=split,clean join.kir
says 'loop vector 64 by 8' 'loop vector 20 by 8'
if grep -q 'when\|cmp.ge\|cmp.lt' out; then fail 'masks are left'; else pass; fi

# Of 27 operands each part has but its own: what only the others need is not even copied.
{
    echo 'kernel stack(b0: in f32[512], b1: in i32[27], b2: out f32[432]) {
    %1 = loop vector 432 by 16 {
        %2: i64 = add %1, 0'
    for i in $(seq 0 26); do
        echo "        %a$i: i1 = cmp.ge %1, $((16 * i))
        %b$i: i1 = cmp.lt %1, $((16 * i + 16))
        %c$i: i1 = and %a$i, %b$i
        %d$i: i32 = load b1[$i] when %c$i else 0:i32
        %e$i: i64 = convert %d$i
        %f$i: i64 = max %e$i, 0
        %g$i: i64 = min %f$i, 80
        %h$i: i64 = add %g$i, %1
        %i$i: f32 = load b0[%h$i] when %c$i else 0.0:f32
        %j$i: f32 = select %a$i, %i$i, $([ $i = 0 ] && echo 0.0:f32 || echo %j$((i - 1)))"
    done
    echo '        store b2[%1], %j26
    }
}'
} | awk '{ # ids are numbers
    while (match($0, /%[a-j][0-9]+/)) {
        name = substr($0, RSTART, RLENGTH)
        if (!(name in id)) id[name] = 3 + n++
        $0 = substr($0, 1, RSTART - 1) "%" id[name] substr($0, RSTART + RLENGTH)
    }
    print }' >stack.kir
exits 0 kir --passes=split,clean --run --seed 3 stack.kir
if grep -q differ out; then fail 'machine code differs'; else pass; fi
exits 0 kir --passes=split,clean stack.kir
if grep -q 'when\|select\|cmp' out; then fail 'masks are left'; else pass; fi
if [ "$(grep -c 'loop vector 16 by 16' out)" = 27 ] && [ "$(grep -c load out)" = 54 ]; then pass; else fail 'not 27 parts'; fi

# Results of more than 16 L2 caches go past the caches, others do not.
for rows in 4096 64; do
    echo "func.func @main(%x: tensor<${rows}x1024xf32>) -> tensor<${rows}x1024xf32> {
  %0 = stablehlo.negate %x : tensor<${rows}x1024xf32>
  return %0 : tensor<${rows}x1024xf32>
}" >large.mlir
    exits 0 compile large.mlir --emit kir --target-cpu x86-64-v4
    if [ "$(grep -c 'store.nt' out)" = $((rows / 4096)) ]; then pass; else fail "stores of $rows rows"; fi
done

# Every function, by the interpreter and as machine code. Unknown ones stay.
names=$(sed -n 's/^MATH([A-Z0-9_]*, *"\([a-z0-9_]*\)", *\([12]\)).*/\1:\2/p' "$root/src/kir/math.def")
for type in f32 f64; do
    for name in $names; do
        case $name in *:2) more=', %3' ;; *) more= ;; esac
        echo "kernel ${name%:*}(b0: in $type[1003], b1: in $type[1003], b2: out $type[1003]) {
            %1 = loop vector 1003 by 8 {
                %2: $type = load b0[%1]
                %3: $type = load b1[%1]
                %4: $type = math.${name%:*} %2$more
                store b2[%1], %4
            }
        }"
    done
done >math.kir
exits 0 kir --passes=expand-math math.kir
if grep -q 'math\.' out; then fail 'functions are left'; else pass; fi
exits 0 kir --run --seed 3 math.kir
if grep -q differ out; then fail 'machine code differs'; else pass; fi

echo 'kernel k() { %1: i64 = add 1, 2:i32 }' >bad.kir
exits 1 kir bad.kir
says 'error: add has operands of different types'
exits 1 kir --run "$root/tests/kir/loops.kir"
says 'index 5 of buffer b0, which has 5 elements'
exits 2 kir --emit wasm bad.kir
says 'expected kir, asm, llvm'
exits 3 kir absent.kir
finish
