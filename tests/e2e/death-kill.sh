#!/bin/bash
# SIGKILL at random moments, with threads at full speed, most of them in the middle of an event. Every call that had
# returned is stored, thread by thread. A record that was being written is skipped and counted. ROUNDS: 12, with --full
# 100.
# ctest: TIMEOUT 900
rounds=${HEAPCAST_TEST_FULL:+100} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
calls=0 unfinished=0

for ((i = 0; i < ${rounds:-12}; i++)); do
	threads=$((1 + i % 5))
	status=0
	"$AGENT" run --quiet --memory-limit $((2 + i % 3 * 3))M --output "$T/rec" -- \
		"$WITNESS" "$T/truth" $threads kill $((1 + RANDOM % 150)) || status=$?
	assert_eq "exit status of agent run (128 + SIGKILL)" 137 "$status"
	assert_eq "the end" "signalled 9 wait none" "$(end_of "$T/rec")"
	nothing_lost "$T/rec" "$T/truth" >"$T/figures"
	read -r _ c u <"$T/figures"
	calls=$((calls + c)) unfinished=$((unfinished + u))
	rm -f "$T/rec" "$T/truth"
done
echo "${rounds:-12} times killed: $calls calls had returned, all of them are stored; $unfinished records were unfinished"
[ "$calls" -gt 100000 ] || fail "that was no workload"
[ "$unfinished" -gt 0 ] || fail "no kill has met a thread in the middle of a record"
