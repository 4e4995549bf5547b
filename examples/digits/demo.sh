#!/bin/sh
# demo.sh: reads the held-back digits with $HILO (a path to the hilo command), and shows how that went.
set -eu
hilo=$(realpath "${HILO:?the hilo command}")
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

set -- digits.mlir --input digits_weights.npz --input digits_test_images.npy
"$hilo" run "$@" -o "$dir/logits.npy"
ms=$("$hilo" run "$@" --timing 5 --json | sed 's/.*"median_ms":\([0-9.]*\).*/\1/')

# numbers FILE FORMAT COUNT: the elements of a .npy file, COUNT a line; its header's length is in bytes 8 and 9.
numbers() {
    skip=$(od -An -tu1 -j8 -N2 "$1" | awk '{ print 10 + $1 + 256 * $2 }')
    od -An -v "-t$2" -j"$skip" -w$((4 * $3)) "$1"
}
numbers digits_test_labels.npy d4 1 >"$dir/labels"
numbers "$dir/logits.npy" f4 10 >"$dir/logits"
numbers digits_test_images.npy f4 64 >"$dir/images"

# A line is a label, ten logits and 64 pixels, each drawn two columns wide.
paste -d' ' "$dir/labels" "$dir/logits" "$dir/images" | LC_ALL=C awk -v ms="$ms" '
    function draw(    line, row, i) {
        for (row = 0; row < 8; row++) {
            line = ""
            for (i = 0; i < shown; i++)
                line = line " " picture[i, row]
            print line
        }
        print caption "\n"
    }
    BEGIN {
        split("  |░░|▒▒|▓▓|██", shade, "|")
        print "Some of the digits, all that are misread among them:\n"
        shown = 0
    }
    {
        best = 2
        for (i = 3; i <= 11; i++)
            if ($i > $best) best = i
        right += best - 2 == $1
        if (best - 2 == $1 && NR % 71) next
        for (row = 0; row < 8; row++) {
            picture[shown, row] = ""
            for (i = 0; i < 8; i++)
                picture[shown, row] = picture[shown, row] shade[1 + int($(12 + 8 * row + i) * 4.99)]
        }
        caption = caption sprintf(" %-16s", best - 2 == $1 ? "read as " $1 : "read as " best - 2 ", is " $1)
        shown++
        if (shown == 4) { draw(); shown = 0; caption = "" }
    }
    END {
        if (shown) draw()
        printf "%d of %d held-back digits read right (%.1f %%) in %.1f ms\n", right, NR, 100 * right / NR, ms
    }'
