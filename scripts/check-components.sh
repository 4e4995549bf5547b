#!/usr/bin/env bash
# Checks the layering of src/: a component includes headers of those components only that its row in src/components.txt
# lists, each of which has a row above it; only runtime and compile include runtime/runtime.h, others runtime/internal.h;
# and the table of docs/ARCHITECTURE.md has a row for each component.
set -euo pipefail
cd "$(dirname "$0")/.."

# FILE:LINE:#include "component/header.h"
includes() {
    find src -type f \( -name '*.[ch]' -o -name '*.def' \) -exec \
        grep -HnE '^[ \t]*#[ \t]*include[ \t]*"' {} + || true
}

includes | sort | awk '
    function fail(what) {
        printf "%s: %s\n", place, what
        bad[component] = 1
    }
    FILENAME == "src/components.txt" {
        if ($0 !~ /^[a-z]/) next
        component = $1
        place = FILENAME ":" FNR
        bad[component] += 0
        sees[component] = " " component " "
        for (i = 3; i <= NF; i++) {
            if (!($i in sees)) fail(component " may see only what stands above it, not " $i)
            sees[component] = sees[component] $i " "
        }
        next
    }
    FILENAME == "docs/ARCHITECTURE.md" {
        if (match($0, /^\| `(src\/)?[a-z0-9]+\/` /)) {
            name = substr($0, RSTART + 3, RLENGTH - 6)
            sub(/^src\//, "", name)
            described[name] = 1
        }
        next
    }
    {
        split($0, field, ":")
        place = field[1] ":" field[2]
        split(field[1], path, "/")
        component = path[2]
        bad[component] += 0
        match($0, /"[^"]*/)
        header = substr($0, RSTART + 1, RLENGTH - 1)
        target = index(header, "/") ? substr(header, 1, index(header, "/") - 1) : "include"
        if (header == "runtime/runtime.h" && component !~ /^(runtime|compile)$/)
            fail(component " includes runtime/internal.h instead of \"" header "\"")
        if (!(component in sees)) fail("src/components.txt has no row for " component)
        else if (!(target in sees)) fail("\"" header "\": src/components.txt has no row for " target)
        else if (!index(sees[component], " " target " ")) fail(component " may not see " target)
    }
    END {
        place = "docs/ARCHITECTURE.md"
        for (component in sees)
            if (!(component in described)) fail("no row for " component)
        for (component in bad) {
            failed += bad[component]
            components++
        }
        printf "%d passed, %d failed\n", components - failed, failed
        exit (failed > 0)
    }
' src/components.txt docs/ARCHITECTURE.md -
