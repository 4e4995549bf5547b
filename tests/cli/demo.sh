#!/bin/sh
# make demo, and what it promises.
. "$(dirname "$0")/common.inc"

status=0
HILO=$HILO "$root/examples/digits/demo.sh" >out 2>err || status=$?
says 'read as 9, is 8' '349 of 355 held-back digits read right (98.3 %)'
if [ "$status" = 0 ]; then pass; else fail 'the demo'; fi

finish
