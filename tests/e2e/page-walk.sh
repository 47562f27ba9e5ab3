#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: the walk of docs/page.md, through a server with a leak, a growing cache, temporary blocks and holes in its memory.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
[ -r /proc/self/smaps ] || skip "there is no /proc/PID/smaps here"
need gcc
cd "$T"
cp "$TEST_SOURCE/page/answerd.c" .
gcc -g -O2 -ffile-prefix-map="$T=/src/answerd" -o answerd "$T/answerd.c"
"$AGENT" run --quiet --figures-interval 100ms --allocator-figures --gather-maps=100ms --output "$T/answerd.heapcast" -- ./answerd >"$T/said"
serve_page --source "/src/answerd=$T" "$T/answerd.heapcast"
play walk "$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | head -n 1)" "$token"
