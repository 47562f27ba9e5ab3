#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: memory maps, address space, figures and sources, of a program whose maps were gathered.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
[ -r /proc/self/smaps ] || skip "there is no /proc/PID/smaps here"
"$AGENT" run --quiet --figures-interval 100ms --allocator-figures --gather-maps=100ms --output "$T/holes.heapcast" -- "$TARGETS/holes"
serve_page --source "$ROOT" "$T/holes.heapcast"
play process "$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | head -n 1)" "$token"
