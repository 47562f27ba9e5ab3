#!/bin/bash
# ctest: LABELS full
# A stream has moved, its first collector is there again, and the agent is killed: the next one goes on where the stream is
# now, not at its first choice, which would take what the other one has for lost. When all is delivered, it goes home. A
# third collector that stands still (it takes connections and says nothing) is passed over.
# ctest: TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need python3
declare -A port=([one]=8201 [two]=8202) name_at=([8201]=one [8202]=two)

collect() { # NAME
	gather "$1" --no-discovery --listen "127.0.0.1:${port[$1]}"
	wait_for 20 "$1 to listen" eval "[ \"\$(grep -c 'listening on' '$T/$1.log')\" = $2 ]"
}
serve() {
	"$AGENT" serve --socket "$T/socket" --memory-limit 4M --policy block --log info --spool "$T/spool" \
		--collector 127.0.0.1:8201,127.0.0.1:8202,127.0.0.1:8203 2>"$T/$1.err" &
	agent_pid[$1]=$!
	wait_for 10 "agent $1" grep -q "programs ask" "$T/$1.err"
	wait_for 60 "agent $1 to have a collector" home_of "$1"
}
home_of() { # AGENT: the last collector that has greeted
	local at
	at=$(sed -nE 's/.*link to 127.0.0.1:(820[12]): it is .*/\1/p' "$T/$1.err" | tail -n 1)
	[ -n "$at" ] && echo "${name_at[$at]}"
}
is_at() { [ "$(home_of "$1")" = "$2" ]; }
has_some() { [ "$(stat -c %s "$T/$1"/streams/*/recording.heapcast)" -gt "$2" ]; }

# Who says nothing: the kernel takes the connections, nobody else.
python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 8203))
print("listening", flush=True)
time.sleep(1000)' >"$T/mute.out" &
mute=$!
wait_for 10 "the mute one" grep -q listening "$T/mute.out"
for name in one two; do collect $name 1; done
serve first
from=$(home_of first)
to=$([ "$from" = one ] && echo two || echo one)
HEAPCAST_SOCKET="$T/socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" 1600000 60000 "$T/end" >"$T/program.out" &
program=$!
wait_for 60 "$from to have a part" has_some "$from" 300000
kill_gather "$from"
wait_for 90 "the agent to move" is_at first "$to"
id=$(streams "$from")
wait_for 60 "$to to have a part" has_some "$to" 300000
collect "$from" 2
before=$(stat -c %s "$(recording_of "$from" "$id")")
kill -KILL "${agent_pid[first]}"
wait "${agent_pid[first]}" 2>/dev/null || true
serve second
assert_eq "the collector of the next agent" "$to" "$(home_of second)"
wait_for 90 "the program to be done" grep -q "done" "$T/program.out"
touch "$T/end"
wait "$program"
wait_idle "$to" 1
assert_eq "what the first one has" "$before" "$(stat -c %s "$(recording_of "$from" "$id")")"
balances "$to"
assert_eq "elsewhere" "$(ledger_number "$to" "$id" before_join)" "$(ledger_number "$to" "$id" elsewhere)"
[ "$(ledger_number "$to" "$id" elsewhere)" -gt 100000 ] || fail "the first part is not known"
echo "lost with the agent that was killed: $(ledger_number "$to" "$id" lost)"

# Nothing is under way: the agent goes home, past the one that says nothing.
wait_for 150 "the agent to go home" is_at second "$from"
assert_contains "the agent" "$T/second.err" "is there again: going back to it"
assert_eq "the note" "127.0.0.1 ${port[$from]}" "$(cat "$T/socket.collector")"
kill -TERM "${agent_pid[second]}"
wait_agent second
[ ! -e "$T/socket.collector" ] || fail "the note is still there"
kill "$mute"
for name in one two; do stop_gather $name; done
