#!/bin/bash
# An agent is silent while a program begins, as on a board that boots. The program goes on, and is recorded as soon as
# the agent is there. What came before is counted, and the ledger shows it. Beside two spinners.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
nice -n 5 sh -c 'while :; do :; done' &
one=$!
nice -n 5 sh -c 'while :; do :; done' &
two=$!

"$AGENT" serve --socket "$T/socket" --output "$T/%p" --log info 2>"$T/serve.err" &
daemon=$!
wait_for 10 "the daemon" grep -q "programs ask" "$T/serve.err"

# NAME SECONDS...: a program that begins beside an agent that is stopped, for so long.
late() {
	local name=$1 seconds=$2 pid
	kill -STOP "$daemon"
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD="$PRELOAD:$COUNTING" COUNTING_OUTPUT=$T/counts "$TARGETS/late" >"$T/$name.out" &
	pid=$!
	sleep "$seconds"
	kill -CONT "$daemon"
	wait_for 10 "$name to be recorded" begun "$pid"
	sleep 1
	kill -TERM "$pid"
	wait "$pid"
	wait_for 10 "$name to be over" grep -q "pid $pid: ended\|pid $pid .*exited\|pid $pid" "$T/serve.err"
	recording=$T/$pid
}

begun() {
	[ -s "$T/$1" ] && { "$COLLECTOR" ledger --json "$T/$1" 2>/dev/null || true; } | grep -q '"stored_allocations":[1-9]'
}

ended() {
	{ "$COLLECTOR" ledger --json "$recording" 2>/dev/null >"$T/ledger.json" || [ $? = 1 ]; } && ! grep -q '"pending":[1-9]' "$T/ledger.json" &&
		grep -q '"kind":"exited\|"exited\|exited' "$T/ledger.json"
}

ledger_value() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$T/ledger.json" "$1"
}

late silent 3
wait_for 10 "its end on record" ended
before=$(ledger_value before_recording)
produced=$(ledger_value produced)
counted "$TARGETS/late" >"$T/counted.txt"
calls=$(awk '/^(calls|failed)\.|^frees / { sum += $2 } END { print sum }' "$T/counted.txt")
longest=$(awk '{ print $4 }' "$T/silent.out")
echo "$produced events recorded, $before before, of $calls; the program stood still for $longest ms at most after it began"
[ "$before" -gt 50 ] || fail "only $before events are told to have come before"
[ "$produced" -gt 50 ] || fail "only $produced events were recorded"
# What came before is counted by the call: it may be off by those few that ran while the agent was asked.
[ $((produced + before - calls)) -le 8 ] && [ $((calls - produced - before)) -le 8 ] || fail "$produced and $before are not $calls"
[ "$longest" -lt 1000 ] || fail "the program stood still for $longest ms"
assert_status 1 "$COLLECTOR" ledger "$recording" >"$T/ledger.txt"
assert_contains "the ledger" "$T/ledger.txt" "before the recording began" "events were before the agent answered"

kill "$daemon"
wait "$daemon"

# A program that begins before its agent does: who says where that will be is recorded from then on.
HEAPCAST_SOCKET=$T/later LD_PRELOAD=$PRELOAD "$TARGETS/late" >"$T/first.out" 2>"$T/first.err" &
first=$!
sleep 2
"$AGENT" serve --socket "$T/later" --output "$T/%p" 2>"$T/later.err" &
daemon=$!
wait_for 10 "the first to be recorded" begun "$first"
kill -TERM "$first"
wait "$first"
recording=$T/$first
wait_for 10 "its end on record" ended
[ "$(ledger_value before_recording)" -gt 50 ] || fail "only $(ledger_value before_recording) events are told to have come before the daemon"
assert_contains "its standard error" "$T/first.err" "this program is not recorded until one does"

kill "$one" "$two" "$daemon"
wait "$daemon"
