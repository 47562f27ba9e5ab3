#!/bin/bash
# The agent's memory is the number that the user gave. RssAnon + RssShmem stay within --memory-limit, with 1, 8 and 64
# threads at full speed and a collector that is connected and stopped. Then the collector goes on, and the account
# balances. 3 s each; with --full 60 s, and more combinations.
# ctest: LABELS full TIMEOUT 600 COST 300
seconds=${HEAPCAST_TEST_FULL:+60} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
need pgrep
seconds=${seconds:-3}

memory_kib() {
	awk '$1 == "RssAnon:" || $1 == "RssShmem:" { sum += $2 } END { print sum + 0 }' "/proc/$1/status" 2>/dev/null || echo 0
}

receiving() {
	[ "$(stat -c %s "$T"/data/streams/*/recording.heapcast 2>/dev/null || echo 0)" -gt 1000 ]
}

program_runs() {
	program=$(pgrep -P "$agent" -x e2e-witness)
}

# LIMIT_MIB THREADS POLICY
hold() {
	local limit=$1 threads=$2 policy=$3 most=0 now end stored lost
	rm -rf "$T/data"
	start_collector
	# 64 threads take what they get: this script and other tests come first.
	nice -n 10 "$AGENT" run --announce --interface lo --quiet --memory-limit "${limit}M" --policy "$policy" --block-max 1s -- \
		"$WITNESS" "$T/truth" "$threads" wait 2>"$T/run.err" &
	agent=$!
	wait_for 10 "the program to run" program_runs
	wait_for 10 "the collector to receive something" receiving
	kill -STOP "$collector_pid"
	end=$((SECONDS + seconds))
	while [ $SECONDS -lt $end ]; do
		now=$(memory_kib "$agent")
		[ "$now" -le "$most" ] || most=$now
		sleep 0.2
	done
	kill -CONT "$collector_pid"
	sleep 0.5
	now=$(memory_kib "$agent")
	[ "$now" -le "$most" ] || most=$now
	kill -KILL "$program"
	wait "$agent" || true
	wait_collector
	assert_status 0 adds_up --data "$T/data" last --json >"$T/ledger.json"
	read -r stored lost <<<"$(python3 -c 'import json, sys; l = json.load(open(sys.argv[1])); print(l["stored"], l["lost"])' "$T/ledger.json")"
	printf 'limit %2d MiB, %2d threads, policy %-5s  %d s: at most %5d KiB of %5d; %s events stored, %s lost, the account balances\n' \
		"$limit" "$threads" "$policy" "$seconds" "$most" $((limit * 1024)) "$stored" "$lost"
	[ "$most" -gt 500 ] || fail "the agent's memory could not be read"
	[ "$most" -le $((limit * 1024)) ] || over="$over $limit/$threads/$policy"
	[ "$stored" -gt 10000 ] || fail "that was no workload"
}

over=
hold 2 1 count
hold 2 64 count
hold 8 8 block
if [ "$seconds" -gt 3 ]; then
	hold 2 8 block
	hold 8 1 thin
	hold 8 64 count
fi
[ -z "$over" ] || fail "above the limit:$over"
