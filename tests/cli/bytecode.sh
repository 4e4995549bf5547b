#!/bin/sh
# Portable artifacts through the command: those next to their text in tests/read/bytecode and, where it is available,
# StableHLO's own and the workloads'. The text goes through bytecode before it is compared, because VHLO cannot tell an
# attribute that says the
# default from one that is absent.
. "$(dirname "$0")/common.inc"
shared=${HILO_SHARED:-$root/../shared}

# equals ARTIFACT TEXT WHAT: they are the same program.
equals() {
    "$HILO" opt --emit bytecode -o text.bc "$2" 2>err && "$HILO" opt text.bc >text.mlir 2>>err
    run opt "$1"
    if [ "$status" = 0 ] && cmp -s text.mlir out; then pass; else
        diff text.mlir out >err
        : >out
        fail "$3"
    fi
}

# rewritten ARTIFACT VERSION: written at that version again, it is the same.
rewritten() {
    "$HILO" opt "$1" >read.mlir
    exits 0 opt --emit bytecode --target-version="$2" -o again.bc "$1"
    exits 0 opt again.bc
    same read.mlir "$1 written at $2"
    if head -c 30 again.bc | grep -aqF "StableHLO_v$2"; then pass; else fail "$1 written at $2: another producer"; fi
}

version() { # FILE: the version in its name
    basename "$1" | sed 's/\.mlir\.bc$//; s/\.bc$//; s/.*-//; s/_/./g'
}

for file in "$root"/tests/read/bytecode/*.bc; do
    equals "$file" "${file%-*}.mlir" "$file"
    case $(version "$file") in
    0.*) ;;
    *) rewritten "$file" "$(version "$file").0" ;;
    esac
done
# As JAX sends programs for several devices: with attributes of Shardy, which hilo reads as text and does not write.
# Its collectives that leave a value the same are reshards.
for name in manual collectives; do
    run opt "$root/tests/read/bytecode/shardy/$name.bc"
    if [ "$status" = 0 ] && cmp -s "$root/tests/read/bytecode/shardy/$name.mlir" out; then
        pass
    else
        fail 'attributes of Shardy'
    fi
done
exits 1 opt "$root/tests/read/bytecode/shardy/maximum.bc"
says 'has a sharding whose parts are combined by a maximum or minimum, which is not supported'
if [ -d "$shared/conformance/vhlo" ]; then
    for file in "$shared"/conformance/vhlo/*.mlir.bc; do
        equals "$file" "${file%.bc}" "$file"
        case $(version "$file") in
        0.*) ;;
        *) rewritten "$file" "$(version "$file")" ;;
        esac
    done
else
    echo "skipped: $shared/conformance/vhlo is not there"
    skipped=$((skipped + 61))
fi
if [ -d "$shared/workloads" ]; then
    for file in "$shared"/workloads/*.bc; do
        equals "$file" "${file%.bc}.mlir" "$file"
    done
else
    echo "skipped: $shared/workloads is not there"
    skipped=$((skipped + 91))
fi

portable=$root/tests/read/bytecode/portable
exits 0 run "$portable-1.0.bc" --input 3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 --input 2xi32=2,0
cp out values
exits 0 run "$portable.mlir" --input 3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 --input 2xi32=2,0
same values 'values of the artifact and of its text'
says '[2, 1, 0]' 26

# Standard output, and what cannot be.
"$HILO" opt --emit bytecode --target-version 1.9.0 "$portable.mlir" >piped.bc 2>err
exits 0 opt --emit bytecode --target-version 1.9 -o file.bc "$portable.mlir"
if cmp -s piped.bc file.bc; then pass; else fail 'standard output and -o differ'; fi
exits 1 opt --emit bytecode --target-version 0.20.0 "$portable.mlir"
says 'StableHLO 0.20 cannot be written, only 1.0 to 1.20'
exits 2 opt --emit bytecode --target-version newest "$portable.mlir"
says '--target-version newest: expected a version of StableHLO such as 1.9.0'
exits 2 opt --emit artifact "$portable.mlir"
exits 3 opt --emit bytecode -o no/such/folder.bc "$portable.mlir"
echo 'func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tan %a : tensor<f32>
  return %0 : tensor<f32>
}' >tan.mlir
exits 1 opt --emit bytecode --target-version 1.3.0 tan.mlir
says "'stablehlo.tan' op needs StableHLO 1.4, the target is 1.3"
head -c 500 "$portable-1.9.bc" >cut.bc
exits 1 opt cut.bc
says 'cut.bc: error: at byte '
exits 1 run cut.bc

# ---- what jax.export serialises, here sin(x) @ x.T of any number of rows
x=$root/tests/read/bytecode/exported.bin
exits 0 run "$x" --input 2x4xf32=0,1,2,3,4,5,6,7
says '3.083426' '-4.8994184'
exits 0 run "$x" --input 3x4xf32=0
says 'tensor<3x3xf32>'
for n in 3 30 59 60 100 300 600; do # cut off anywhere: refused, with a reason
    head -c $n "$x" >cut.bin
    exits 1 run cut.bin --input 2x4xf32=0
    says 'error'
done

finish
