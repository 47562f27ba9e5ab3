#!/bin/bash
# ctest: LABELS full
# The agent is stopped (SIGSTOP) for longer than a program waits for it: the program goes on, unrecorded. When the agent
# runs again, the recording goes on, and what is missing is known to the event. This is done with each policy that can
# come to this.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"

stopped() {
	local policy=$1 before
	rm -rf "$T/data" "$T"/counts.*
	start_collector
	start_daemon --announce --policy "$policy"
	start_steady 2
	sleep 0.5
	for _ in 1 2; do
		kill -STOP "$daemon"
		sleep 2.5
		[ "$_" = 1 ] || kill -USR1 "$steady"
		kill -CONT "$daemon"
		sleep 1
	done
	end_steady
	wait_collector
	kill -TERM "$daemon"
	wait "$daemon" || fail "agent serve ended with $?"
	ask_ledger
	check_steady
	before=$(gaps_of "agent was gone")
	[ "${before% *}" -ge 2 ] || fail "policy $policy: gaps of the agent: $before"
	ask report >"$T/report.txt"
	assert_contains "collector report" "$T/report.txt" steady_after
	echo "policy $policy: longest time from one allocation to the next: $longest_us us;" \
		"$(ledger_value produced) events, $(ledger_value lost) lost" >&3
}

stopped block
stopped count
