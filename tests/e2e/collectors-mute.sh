#!/bin/bash
# A collector that takes the connection and the data, and acknowledges nothing (it is stopped): an agent that has another
# one goes there after 10 s, and nothing is lost.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"

need python3
declare -A port=([one]=8206 [two]=8207)
for name in one two; do
	gather $name --no-discovery --listen "127.0.0.1:${port[$name]}"
	wait_for 20 "$name to listen" grep -q "listening on" "$T/$name.log"
done
"$AGENT" serve --socket "$T/agent.socket" --memory-limit 4M --policy block --log info --collector 127.0.0.1:8206,127.0.0.1:8207 \
	2>>"$T/agent.err" &
agent_pid[agent]=$!
wait_for 20 "the agent to have a collector" grep -q "connected to the collector at" "$T/agent.err"
first=one other=two
if grep -q "connected to the collector at 127.0.0.1:8207" "$T/agent.err"; then first=two other=one; fi
# It sends little: far less than the socket's buffers hold, so the connection itself is never in want.
HEAPCAST_SOCKET="$T/agent.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" 80000 1000000 "$T/end" >"$T/program.out" &
program=$!
has_some() { # what it acknowledges each second, and more
	local id
	id=$(ls "$T/$first/streams" 2>/dev/null)
	[ -n "$id" ] && [ "$(stat -c %s "$(recording_of "$first" "$id")")" -gt 20000 ]
}
wait_for 30 "$first to have some of it" has_some
kill -STOP "${gatherer[$first]}"
wait_for 60 "the agent to leave the collector that is mute" grep -q "has acknowledged nothing for 10 s; trying the next one" "$T/agent.err"
wait_for 90 "the program to be done" grep -q "done" "$T/program.out"
touch "$T/end"
wait "$program"
ended() { grep -q "pid $program, ended:.*taken by .*, then" "$T/agent.err"; }
wait_for 60 "the recording to be delivered" ended
assert_eq "moves" 1 "$(grep -c "trying the next one" "$T/agent.err")"
adds_up --data "$T/$other" --json last >"$T/ledger.json" || fail "the ledger does not balance"
python3 -c '
import json, sys
l = json.load(open(sys.argv[1]))
assert l["missing"]["lost_events"] + l["lost"] + l["missed"] == 0, l
assert l["stored"] + l["parts"][0]["events"] == l["delivered"], l' "$T/ledger.json" || fail "events are lost"
kill -CONT "${gatherer[$first]}"
kill -TERM "${agent_pid[agent]}"
wait_agent agent
for name in one two; do stop_gather $name; done
