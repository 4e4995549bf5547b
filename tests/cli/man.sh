#!/bin/sh
# The manual page, the completion and the tables of environment variables say what the command does.
. "$(dirname "$0")/common.inc"

exits 0 help man
same "$root/man/hilo.1" 'man/hilo.1 is what `hilo help man` prints'
exits 0 help completion
same "$root/completions/hilo.bash" 'completions/hilo.bash is what `hilo help completion` prints'

# Every command and every option of its --help is in the manual page.
exits 0 help
sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' out | grep -vx -e help -e hilo >commands
[ "$(wc -l <commands)" -ge 17 ] && pass || fail 'commands in the help'
while read -r command; do
    if grep -qE "^\.SS hilo $command( |\$)" "$root/man/hilo.1"; then pass; else fail "$command in the manual page"; fi
    "$HILO" "$command" --help </dev/null | sed -nE '/^options:/,$ s/^  (-O|-[-a-zA-Z0-9]*).*/\1/p' | grep -vx -e --help >options
    awk -v name="$command" '/^\.S[SH] /{on = $3 == name} on' "$root/man/hilo.1" | sed 's/\\-/-/g; s/\\f.//g' >section
    while read -r option; do
        if grep -qE "^$option( |\$|0)" section; then pass; else fail "$command $option in the manual page"; fi
    done <options
done <commands

# Every variable that the sources read is in `hilo help environment`, and nothing else is; the guide has the same ones.
exits 0 help environment
sed -nE 's/^  ([A-Z][A-Z_]+)$/\1/p' out | sort >listed
{
    grep -rhoE '"HILO_[A-Z_]+"' "$root/src" "$root/python" --include=*.[ch] --include=*.py | tr -d '"'
    echo NO_COLOR
} | sort -u >wanted
if cmp -s listed wanted; then pass; else diff listed wanted >out; fail 'environment variables that are read, and documented'; fi
grep -oE '^\| `[A-Z][^|]*' "$root/docs/GUIDE.md" | grep -oE '[A-Z][A-Z_]+' | sort -u >guide
if cmp -s guide wanted; then pass; else diff guide wanted >out; fail 'environment variables in docs/GUIDE.md'; fi
finish
