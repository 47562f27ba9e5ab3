#!/bin/bash
# A program opens a library in a namespace of its own (dlmopen), where another malloc is. That malloc is not recorded,
# and each answer begins with that. The caller of dlmopen is found as ever, so its RUNPATH holds.
. "$(dirname "$0")/lib.sh"
[ -x "$TARGETS/namespaces" ] || skip "there is no dlmopen"

"$AGENT" run --quiet --output none.heapcast -- "$TARGETS/namespaces"
"$COLLECTOR" ledger --json none.heapcast >none.json
assert_contains "without one" none.json '"namespaces":0,'
# By its name alone, which is found in the RUNPATH of who calls.
(cd / && "$AGENT" run --quiet --output "$T/one.heapcast" -- "$TARGETS/namespaces" plugin1.so) >said || fail "the program ended with $?"
assert_status 1 "$COLLECTOR" ledger --json one.heapcast >one.json
assert_contains "with one" one.json '"namespaces":1,' '"lost":0,' '"adds_up":true' '"complete":false'
"$COLLECTOR" leaks one.heapcast >one.txt
assert_contains "with one" one.txt "Incomplete: what was allocated in 1 namespace of the loader (dlmopen) was not recorded."
