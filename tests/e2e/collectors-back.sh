#!/bin/bash
# An agent goes to another collector, and comes back to the first one: that one has a hole in the middle, and its account
# says who has it. `import` of both recordings makes the whole of them, in any order. It says what it can't take into a folder
# that has the end.
# ctest: TIMEOUT 240
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"

need python3
declare -A port=([one]=8208 [two]=8209)
collect() { # NAME
	gather "$1" --no-discovery --listen "127.0.0.1:${port[$1]}"
	wait_for 20 "$1 to listen" listens "$1"
}
listens() { [ "$(grep -c "listening on" "$T/$1.log")" -gt "${begun[$1]:-0}" ]; }
is_at() { # NAME: by what the agent has said last
	grep "connected to the collector at" "$T/agent.err" | tail -n 1 | grep -q ":${port[$1]}$"
}
id_in() { ls "$T/$1/streams" 2>/dev/null; }
bytes_in() { stat -c %s "$(recording_of "$1" "$(id_in "$1")")"; }
has() { # NAME BYTES
	[ -n "$(id_in "$1")" ] && [ "$(bytes_in "$1")" -gt "$2" ]
}
say() { # NAME EXPRESSION: of the ledger l
	adds_up --data "$T/$1" --json last | python3 -c "
import json, sys
l = json.load(sys.stdin)
print($2)"
}

declare -A begun
for name in one two; do collect $name; done
"$AGENT" serve --socket "$T/agent.socket" --memory-limit 4M --policy block --log info --collector 127.0.0.1:8208,127.0.0.1:8209 \
	2>>"$T/agent.err" &
agent_pid[agent]=$!
wait_for 20 "the agent to have a collector" grep -q "connected to the collector at" "$T/agent.err"
first=one other=two
if is_at two; then first=two other=one; fi
HEAPCAST_SOCKET="$T/agent.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" 140000 1000000 "$T/end" >"$T/program.out" &
program=$!
wait_for 30 "$first to have a part" has $first 15000
kill_gather $first
wait_for 60 "$other to have a part" has $other 15000
begun[$first]=$(grep -c "listening on" "$T/$first.log")
collect $first
before=$(bytes_in $first)
kill_gather $other
wait_for 60 "$first to have the rest" has $first $((before + 10000))
wait_for 90 "the program to be done" grep -q "done" "$T/program.out"
touch "$T/end"
wait "$program"
ended() { grep -q "pid $program, ended:.*taken by .*, then .*, then" "$T/agent.err"; }
wait_for 60 "the recording to be delivered" ended
kill -TERM "${agent_pid[agent]}"
wait_agent agent
stop_gather $first

id=$(id_in $first)
delivered=$(say $first 'l["delivered"]')
assert_eq "lost" 0 "$(say $first 'l["missing"]["lost_events"] + l["lost"]')"
assert_eq "both parts" "$delivered" "$(say $first 'l["stored"] + l["elsewhere"]')"
adds_up --data "$T/$first" last >"$T/ledger.txt"
assert_contains "the ledger" "$T/ledger.txt" "of what is not here, elsewhere"
a=$(recording_of $first "$id") b=$(recording_of $other "$id")
"$COLLECTOR" import --data "$T/ab" "$a" "$b" >"$T/ab.txt" || fail "the parts can't be put together"
"$COLLECTOR" import --data "$T/ba" "$b" "$a" >"$T/ba.txt" || fail "the parts can't be put together the other way round"
for both in ab ba; do
	"$COLLECTOR" ledger --data "$T/$both" last >"$T/ledger.txt" || { cat "$T/$both.txt" "$T/ledger.txt" >&3; fail "the parts are not the whole"; }
	assert_eq "stored of both" "$delivered" "$(say $both 'l["stored"]')"
	assert_contains "what import says" "$T/$both.txt" "$a, $b"
done
same_columns ab ba
# The folder that has the end can't take the middle.
"$COLLECTOR" import --data "$T/$first" "$b" | tr -s ' \n' ' ' >"$T/late.txt"
assert_contains "import of the middle" "$T/late.txt" "were NOT taken" "together into an empty folder"
"$COLLECTOR" import --data "$T/alone" "$a" | tr -s ' \n' ' ' >"$T/alone.txt"
assert_contains "import without the middle" "$T/alone.txt" "batches in between are missing, which" "has: import its recording"
echo "$delivered events, $(say $first 'l["elsewhere"]') of them at the other collector"
