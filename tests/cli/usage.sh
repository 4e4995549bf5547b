#!/bin/sh
# Help, versions, wrong command lines, exit codes.
. "$(dirname "$0")/common.inc"

commands="run compile explain verify check bench opt ops devices kir cache calibrate generate tokenize perplexity emit quantize"
commands="$commands convert"

exits 2
says 'usage: hilo COMMAND'
exits 0 --version
versions=$(sed -n 's/^StableHLO: reads \(.*\), writes .*/\1/p' out) # the documentation names the same
for page in README.md docs/GUIDE.md; do
    if [ -n "$versions" ] && grep -q "$versions" "$root/$page"; then pass; else fail "$page does not say '$versions'"; fi
done
says 'machine code: ' "hilo $(sed -n 's/^#define HILO_VERSION_MAJOR \([0-9]*\).*/\1/p' "$root/include/hilo.h")."
for word in help --help -h; do
    exits 0 $word
    # shellcheck disable=SC2086
    says 'exit codes' $commands
done

# The help of every command shows each of its options, and examples.
for command in $commands; do
    exits 0 $command --help
    says "usage: hilo $command" 'options:' 'examples:' --help
    cp out first
    exits 0 help $command
    same first "help $command"
done
exits 0 run --help
says --entry --input -o --timing --json --threads -O0..3 --backend random:SEED

exits 2 rnu
says "unknown command 'rnu'; did you mean run?"
exits 2 help rnu
exits 2 entirely-different
says 'see: hilo help'
exits 2 opt
says 'usage: hilo opt FILE'
exits 2 opt a.mlir b.mlir
says "'b.mlir'"
exits 2 run --inptu 1 a.mlir
says "unknown option '--inptu'; did you mean --input?"
exits 2 opt --generik=1 a.mlir
says 'did you mean --generic?'
exits 2 opt --generic=1 a.mlir
says 'no value'
exits 2 run a.mlir --entry
says 'a value is missing'
exits 2 run a.mlir -O4
says '-O4: expected 0, 1, 2 or 3'
exits 2 run a.mlir --threads -1
exits 2 run a.mlir --threads some
exits 2 run a.mlir --backend abacus
says '--backend abacus: expected auto, reference, interpreter, codegen, library'
exits 2 run a.mlir --backend librry
says 'did you mean library?'
exits 2 run a.mlir --json
says '--timing'
exits 3 run absent.mlir
says absent.mlir 'No such file'
exits 3 opt /
exits 3 check absent.mlir
exits 0 devices
says 'cpu:' threads 'machine code: '
exits 0 devices --json
says '[{"name":"cpu","threads":'

# Without LLVM: the reason, and the package to install.
cat >add.mlir <<'EOF'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
EOF
for command in --version devices; do
    HILO_LLVM_PATH=/nowhere exits 0 $command
    says 'reference evaluator' libllvm19
done

# Environment variables are checked as options are.
HILO_CACHE_SIZE=abc exits 2 run add.mlir --input random:1
says 'HILO_CACHE_SIZE=abc' '500M'
HILO_CACHE_SIZE=500M exits 0 run add.mlir --input random:1
HILO_TIER=best exits 2 run add.mlir --input random:1
says 'HILO_TIER=best' 'optimised'
for tier in auto baseline optimised; do
    HILO_TIER=$tier exits 0 run add.mlir --input random:1
    cp out "$tier"
    exits 0 run add.mlir --tier $tier --input random:1
    cmp -s out "$tier" && cmp -s out auto && pass || fail "tier $tier has other results"
done
HILO_ENGINE=abacus exits 2 generate -m . -p Hello
says 'HILO_ENGINE abacus: expected hilo, hilo:gpu, reference or pjrt:PATH'
exits 2 generate -m . -p Hello --engine abacus
exits 2 generate -m . -p Hello --precision f31
says 'auto, f32, bf16'

# Validity: silence, or the errors.
exits 0 verify add.mlir "$root"/tests/op/add.mlir
prints ''
echo 'func.func @main() { return %0 : tensor<f32> }' >invalid.mlir
exits 1 verify add.mlir invalid.mlir
says 'invalid.mlir:1:'
exits 3 verify invalid.mlir absent.mlir
says 'invalid.mlir:1:' 'absent.mlir'

# Output that cannot be written is an error of every command.
if [ -w /dev/full ]; then
    for words in ops devices --version help 'help run' 'help man' 'cache list' 'explain add.mlir' 'opt add.mlir' \
        'compile add.mlir --emit plan' 'run add.mlir --input random:1' 'opt --list-passes'; do
        status=0
        # shellcheck disable=SC2086
        HILO_CACHE_DIR=$dir/cache "$HILO" $words >/dev/full 2>err </dev/null || status=$?
        : >out
        if [ "$status" = 3 ] && grep -q 'standard output: No space left' err; then pass; else fail "hilo $words >/dev/full"; fi
        status=0
        # shellcheck disable=SC2086
        HILO_CACHE_DIR=$dir/cache "$HILO" $words >&- 2>err </dev/null || status=$?
        if [ "$status" = 3 ] && grep -q 'standard output' err; then pass; else fail "hilo $words >&-"; fi
    done
fi

# No colour and no progress where there is no terminal.
echo nonsense >bad.mlir
exits 1 opt bad.mlir
says 'bad.mlir:1:1: error:'
if grep -q "$(printf '\033')" err; then fail 'colour in a file'; else pass; fi

finish
