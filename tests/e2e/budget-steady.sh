#!/bin/bash
# The agent takes its memory at the start. With twenty times as many events, and as many more batches, it calls malloc
# not once more often, and its data segment does not grow. First it records into a file, then to a collector, where
# connecting may cost a few calls.
# ctest: LABELS full TIMEOUT 900
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need pgrep
agent_path=$(readlink -f "$AGENT")

# COUNT ARG...: what the agent has allocated (calls) in $calls, and how its data segment grew in $grown (KiB) after the first half
# second, in which its threads, with their stacks, may still be starting.
record_counted() {
	local count=$1 first= now agent
	shift
	rm -f "$T"/counts.* "$T/rec"
	LD_PRELOAD=$COUNTING COUNTING_OUTPUT=$T/counts "$AGENT" run --quiet --memory-limit 2M "$@" -- "$BUILD/tests/e2e-pairs" "$count" >"$T/pairs.out" &
	agent=$!
	wait_for 10 "the program to run" pgrep -P "$agent" e2e-pairs
	grown=0
	sleep 0.5
	while now=$(awk '$1 == "VmData:" { print $2 }' "/proc/$agent/status" 2>/dev/null) && [ -n "$now" ]; do
		[ -n "$first" ] || first=$now
		[ $((now - first)) -le $grown ] || grown=$((now - first))
		sleep 0.02
	done
	assert_status 5 wait "$agent"
	counted "$agent_path" >"$T/agent.txt"
	calls=$(awk '/^calls\./ { sum += $2 } END { print sum }' "$T/agent.txt")
}

record_counted 200000 --output "$T/rec"
few=$calls
record_counted 4000000 --output "$T/rec"
echo "to a file: $few calls for 400,000 events, $calls for 8,000,000; its data grew by $grown KiB meanwhile"
[ "$few" -gt 10 ] || fail "the agent was not counted"
assert_eq "calls of malloc and others with twenty times the events" "$few" "$calls"
assert_eq "KiB that the data grew" 0 "$grown"

start_collector
record_counted 200000 --collector 127.0.0.1
wait_collector
few=$calls
start_collector
record_counted 4000000 --collector 127.0.0.1
wait_collector
echo "to a collector: $few calls for 400,000 events, $calls for 8,000,000; its data grew by $grown KiB meanwhile"
# Each attempt to connect costs a few (nine, of a collector that does not listen yet); a batch would cost thousands.
[ "$calls" -le $((2 * few)) ] || fail "the agent allocates for what it sends"
[ "$grown" -le 64 ] || fail "the agent's data grew"
