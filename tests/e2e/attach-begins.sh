#!/bin/bash
# Attaching says that it has begun and how long it took, and takes less than a second of a processor. That is how long
# the kernel needs to look through our programs. Once these were 1.7 million instructions, and it took two seconds.
. "$(dirname "$0")/lib-attach.sh"
TIMEFORMAT='%U %S'

"$TARGETS/attached" never 0 1 &
target=$!
wait_for 10 "the program to be loaded" grep -q /libc /proc/$target/maps
{ time "$AGENT" attach -p $target --for 100ms --output begins.heapcast 2>attach.err; } 2>took
kill -KILL $target
wait $target 2>/dev/null || true
assert_eq "what it says first" "heapcast: attaching" "$(head -n 1 attach.err)"
assert_contains "what it says then" <(tr '\n' ' ' <attach.err) "attached to 1 program after "
echo "processor's seconds, user and system: $(cat took)"
awk '{ exit !($1 + $2 < 1) }' took || fail "attaching took $(cat took) s of a processor"
