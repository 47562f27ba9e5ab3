#!/bin/bash
# Many threads at the default memory limit. 500 at a time have a place in the ring each. Of thousands that come and go,
# the places are free again in time. Nothing is lost.
. "$(dirname "$0")/lib.sh"

# FILE: the row of the ledger by its first word, without thousands separators.
ledger_row() {
	awk -v row="$2" '$1 == row { gsub(",", "", $NF); print $NF }' "$1"
}

# More than once: threads take their second slice while the agent looks for their first.
for run in 1 2 3 4 5 6 7 8; do
	"$AGENT" run --quiet --output "$T/crowd.$run" -- "$BUILD/tests/e2e-crowd" 500
	assert_status 0 "$COLLECTOR" ledger "$T/crowd.$run" >"$T/crowd.txt"
	assert_eq "lost events of 500 threads" 0 "$(ledger_row "$T/crowd.txt" lost)"
	[ "$(ledger_row "$T/crowd.txt" delivered)" -ge 50000 ] || fail "500 threads of 100 events: $(cat "$T/crowd.txt")"
done

"$AGENT" run --quiet --output "$T/short" -- "$BUILD/targets/short_threads" 4000 >"$T/short.out"
assert_status 0 "$COLLECTOR" ledger "$T/short" >"$T/short.txt"
assert_eq "lost events of 4000 short-lived threads" 0 "$(ledger_row "$T/short.txt" lost)"
[ "$(ledger_row "$T/short.txt" delivered)" -ge 16000 ] || fail "4000 threads of 4 events: $(cat "$T/short.txt")"
