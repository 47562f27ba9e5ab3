#!/bin/bash
# `agent run` itself is killed: its program goes on, unrecorded, and ends as it would have ended. What was delivered is kept.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
for policy in block count; do
	rm -f "$T/status" "$T/steady.out"
	# The program writes its status down: it has no parent any more that could tell.
	"$AGENT" run --follow --policy "$policy" --quiet --output "$T/$policy-%p.heapcast" -- \
		sh -c '"$0" 2 >"$1/steady.out" 2>"$1/steady.err" & echo $! >"$1/pid"; wait $!; echo $? >"$1/status"' \
		"$TARGETS/steady" "$T" 2>"$T/run.err" &
	run=$!
	wait_for 10 "the program" grep -qs started "$T/steady.out"
	sleep 0.5
	kill -KILL "$run"
	wait "$run" || true
	sleep 1.5
	kill -TERM "$(cat "$T/pid")"
	wait_for 10 "the program's end" test -s "$T/status"
	assert_eq "exit status of the program" 7 "$(cat "$T/status")"
	assert_eq "lines of its output" 3 "$(wc -l <"$T/steady.out")"
	longest_us=$(value_of longest_us <"$T/steady.err")
	[ "$longest_us" -lt "$STALL_US" ] || fail "the program stood still for $longest_us us"
	ask_ledger "$T/$policy-$(cat "$T/pid").heapcast"
	[ "$(ledger_value stored)" -gt 1000 ] || fail "policy $policy: nothing was delivered"
	echo "policy $policy: longest time from one allocation to the next: $longest_us us" >&3
done
