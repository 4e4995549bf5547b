#!/usr/bin/env bash
# Checks that src/ir/ops.def is the only list of ops: a function of src/ may have one `case IR_<OP>` of an op, but
# not more, unless it is named below, with the reason. What depends on the kind of an op is a trait or a column of the table.
set -euo pipefail
cd "$(dirname "$0")/.."

exceptions='
src/eval/eval_elt.c resolve_by_type  ops whose element kernel is chosen by two types, not by the table of one type
src/eval/eval_elt.c result_fits      repeats what the verifier infers, so that no kernel writes out of bounds
src/fuse/fuse.c operand_map          each op maps indices by attributes of its own
src/fuse/online.c linear_operand     the operand in which an op is linear depends on what the others are
src/lower/span.c operand_span        each op maps spans of indices by attributes of its own
src/lower/span.c range_of            interval arithmetic: a rule for each op
src/lower/span.c is_weight           where an op is 0 depends on which of its operands are
src/lower/span.c is_zero             the same, at spans where a mask is
src/lower/span.c is_masked_use       which operands do not matter where others are 0 or low
src/compile/divide.c operand_axis  each op maps dimensions by attributes of its own
src/compile/build_op.c exchange_of whether it moves whole blocks depends on attributes of its own
src/ir/sdy_verify.c sdy_read_op   functions and ops of the sdy dialect name their shardings in attributes of their own
src/opt/spmd_op.c walk_op          control flow and ops of the sdy dialect, each with a function of its own
src/library/sort_match.c order_of    a grammar of comparators, with a production for each op
'

awk -v exceptions="$exceptions" '
    BEGIN {
        n = split(exceptions, lines, "\n")
        for (i = 1; i <= n; i++)
            if (split(lines[i], word, " ") > 1) allowed[word[1] " " word[2]] = 0
    }
    FILENAME == "src/ir/ops.def" {
        if (match($0, /^OP\([A-Z0-9_]+/)) ops[substr($0, 4, RLENGTH - 3)] = 1
        next
    }
    FNR == 1 { files++; name = ""; cases = 0 }
    /^[a-z].*\(/ && !/;$/ {
        split($0, word, "(")
        name = word[1]
        sub(/.*[ *]/, "", name)
        cases = 0
    }
    {
        for (rest = $0; match(rest, /case IR_[A-Z0-9_]+/); rest = substr(rest, RSTART + RLENGTH))
            if (substr(rest, RSTART + 8, RLENGTH - 8) in ops && ++cases == 2) {
                if (FILENAME " " name in allowed) allowed[FILENAME " " name]++
                else {
                    printf "%s:%d: %s lists ops, which belongs into src/ir/ops.def\n", FILENAME, FNR, name
                    failed++
                }
            }
        if (/case IR_[A-Z_]*##[A-Za-z_]+[^A-Za-z_#]/) {
            printf "%s:%d: a list of ops by a macro, which belongs into src/ir/ops.def\n", FILENAME, FNR
            failed++
        }
    }
    END {
        for (f in allowed) {
            if (allowed[f]) continue
            print f " is an exception, but lists no ops"
            failed++
        }
        printf "%d passed, %d failed\n", files - failed, failed
        exit (failed > 0)
    }
' src/ir/ops.def $(git ls-files 'src/*.[ch]' 2>/dev/null || find src -name '*.[ch]')
