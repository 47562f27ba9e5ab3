#!/bin/bash
# The daemon is killed again and again beside programs whose threads come and go by the thousand, and while allocations
# are sampled. Every thread is counted once, whoever saw its end. And beside a program whose stacks have numbers
# (proto/ring.h, RING_SAVE), which the next agent does not know.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need_takeup

# killed_beside PROGRAM SIGNAL DAEMON-OPTION...
killed_beside() {
	local program=$1
	rm -rf "$T/data" "$T"/counts.*
	start_collector
	start_daemon --announce "${@:2}"
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD="$PRELOAD:$COUNTING" COUNTING_OUTPUT=$T/counts \
		"$TARGETS/"$program >"$T/out" 2>"$T/program.err" &
	pid=$!
	wait_for 10 "the recording" grep -q "recording pid $pid" "$T/serve.err"
	for _ in 1 2 3 4; do
		sleep "0.$((RANDOM % 3 + 2))"
		kill_daemon
		sleep "0.$((RANDOM % 3))"
		start_daemon --announce "${@:2}"
	done
	sleep 0.5
	kill -TERM "$pid" || fail "$program was over too soon"
	wait "$pid" || true
	wait_collector
	kill_daemon
	ask_ledger
	counted "$TARGETS/${program%% *}" >"$T/counted.txt"
	assert_eq "$program: produced" \
		"$(awk '/^(calls|failed)\.|^frees / { sum += $2 } END { print sum }' "$T/counted.txt")" "$(ledger_value produced)"
	assert_eq "$program: pending" 0 "$(ledger_value pending)"
	[ "$(ledger_value stored)" -gt 1000 ] || fail "$program: nothing was stored"
}

killed_beside "short_threads 10000000" --policy block
killed_beside "steady 3" --policy block --mode sample=16K
killed_beside "unlike 1000000000 15 2" --policy block
# Way W allocates own(16 * (W + 1)) bytes W frames deeper than way 0, whichever agent was there.
ask sql "SELECT (size - 7) / 16 AS ways, min(depth) - (size - 7) / 16, max(depth) - (size - 7) / 16, count(*) FROM allocations
	WHERE size % 16 = 7 AND stack > 0 AND size < 256 GROUP BY ways" --csv >"$T/depths.csv"
assert_eq "ways" 15 "$(sed 1d "$T/depths.csv" | wc -l)"
assert_eq "depths" 1 "$(sed 1d "$T/depths.csv" | awk -F, '{ print $2; print $3 }' | sort -u | wc -l)"
