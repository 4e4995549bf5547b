#!/bin/sh
# Help, versions, wrong command lines, exit codes.
. "$(dirname "$0")/common.inc"

commands='run compile explain check bench opt ops devices kir cache calibrate generate tokenize perplexity emit quantize'

exits 2
says 'usage: hilo COMMAND'
exits 0 --version
says "hilo $(sed -n 's/^#define HILO_VERSION_MAJOR \([0-9]*\).*/\1/p' "$root/include/hilo.h")."
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
says 'levels are 0 to 3'
exits 2 run a.mlir --threads -1
exits 2 run a.mlir --threads some
exits 2 run a.mlir --backend abacus
exits 2 run a.mlir --json
says '--timing'
exits 3 run absent.mlir
says absent.mlir 'No such file'
exits 3 opt /
exits 3 check absent.mlir
exits 0 devices
says 'cpu:' threads
exits 0 devices --json
says '[{"name":"cpu","threads":'

# No colour and no progress where there is no terminal.
echo nonsense >bad.mlir
exits 1 opt bad.mlir
says 'bad.mlir:1:1: error:'
if grep -q "$(printf '\033')" err; then fail 'colour in a file'; else pass; fi

finish
