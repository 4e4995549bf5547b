#!/usr/bin/env bash
# Checks that no room of src/ includes a header of a room that it may not see; src/rooms.txt says
# which it may.
set -euo pipefail
cd "$(dirname "$0")/.."

# FILE:LINE:#include "room/header.h"
includes() {
    find src -type f \( -name '*.[ch]' -o -name '*.def' \) -exec \
        grep -HnE '^[ \t]*#[ \t]*include[ \t]*"' {} + || true
}

includes | sort | awk '
    function fail(what) {
        printf "%s: %s\n", place, what
        bad[room] = 1
    }
    FILENAME != "-" {                           # src/rooms.txt
        if ($0 !~ /^[a-z]/) next
        sees[$1] = " " $1 " " above
        above = above $1 " "
        if (NF > 2) {
            sees[$1] = " " $1 " "
            for (i = 3; i <= NF; i++) sees[$1] = sees[$1] $i " "
        }
        next
    }
    {
        split($0, field, ":")
        place = field[1] ":" field[2]
        split(field[1], path, "/")
        room = path[2]
        bad[room] += 0
        match($0, /"[^"]*/)
        header = substr($0, RSTART + 1, RLENGTH - 1)
        target = index(header, "/") ? substr(header, 1, index(header, "/") - 1) : "include"
        if (!(room in sees)) fail("src/rooms.txt has no room " room)
        else if (!(target in sees)) fail("\"" header "\": no such room in src/rooms.txt")
        else if (!index(sees[room], " " target " ")) fail(room " may not see " target)
    }
    END {
        for (room in bad) {
            failed += bad[room]
            rooms++
        }
        printf "%d passed, %d failed\n", rooms - failed, failed
        exit (failed > 0)
    }
' src/rooms.txt -
