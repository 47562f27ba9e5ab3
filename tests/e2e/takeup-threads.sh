#!/bin/bash
# The daemon is killed again and again beside programs whose threads come and go by the thousand, and while allocations
# are sampled. Every thread is counted once, whoever saw its end.
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
