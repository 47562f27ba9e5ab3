#!/bin/bash
# Two collectors and an agent that has both. The disk of the agent's collector is full: the agent is told so and goes to
# the other one, and nothing is lost. Then that disk is full, too: the agent does not go to and fro, it stays and waits, and
# goes on when there is room.
# ctest: TIMEOUT 240
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"

unshare --mount true 2>/dev/null || skip "needs a mount namespace of its own"
need python3
# Each collector alone sees its disk, which has room for some 600 KB at first.
cat >"$T/collect" <<-'END'
	mount -t tmpfs -o size=1500k none "$1" || exit 77
	dd if=/dev/zero of="$1/ballast" bs=1k count=900 2>/dev/null
	shift
	exec "$@"
END
collect() { # NAME PORT
	mkdir "$T/$1"
	unshare --mount -- bash "$T/collect" "$T/$1" "$COLLECTOR" gather --data "$T/$1/data" --no-discovery \
		--listen "127.0.0.1:$2" >"$T/$1.log" 2>"$T/$1.err" &
	gatherer[$1]=$!
	wait_for 20 "$1 to listen" grep -q "listening on" "$T/$1.log" || true
	kill -0 "${gatherer[$1]}" || skip "needs a tmpfs"
}
look() { # NAME COMMAND...: where the disk of this collector is seen
	local name=$1
	shift
	nsenter --mount --target "${gatherer[$name]}" -- "$@"
}
number_in() { # COLLECTOR EXPRESSION: of the ledger l of the last stream
	look "$1" "$COLLECTOR" ledger --data "$T/$1/data" --json last >"$T/ledger.json" || [ $? = 1 ]
	python3 -c "
import json
l = json.load(open('$T/ledger.json'))
print($2)"
}
run_program() { # NUMBER EVENTS A_SECOND
	HEAPCAST_SOCKET="$T/agent.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" "$2" "$3" "$T/end$1" >"$T/program$1.out" &
	program[$1]=$!
}
said() { # TEXT: how often the agent has said it
	grep -c "$1" "$T/agent.err" || true
}
is_full() { # NAME
	[ "$(look "$1" stat -f -c %a "$T/$1")" -lt 16 ]
}
delivered() { grep -q "pid ${program[$1]}, ended:.*taken by" "$T/agent.err"; }

declare -A program
collect one 8204
collect two 8205
"$AGENT" serve --socket "$T/agent.socket" --memory-limit 4M --policy block --log info --collector 127.0.0.1:8204,127.0.0.1:8205 \
	2>>"$T/agent.err" &
agent_pid[agent]=$!
wait_for 20 "the agent to have a collector" grep -q "connected to the collector at" "$T/agent.err"
first=one other=two
if grep -q "connected to the collector at 127.0.0.1:8205" "$T/agent.err"; then first=two other=one; fi
look $other mount -o remount,size=64m "$T/$other"
run_program 1 400000 20000
wait_for 60 "the agent to leave the collector whose disk is full" grep -q "has no room on its disk; trying the next one" "$T/agent.err"
wait_for 60 "program 1 to be done" grep -q "done" "$T/program1.out"
touch "$T/end1"
wait "${program[1]}"
wait_for 60 "program 1 to be delivered" delivered 1
assert_eq "moves" 1 "$(said 'trying the next one')"
assert_contains "the collector" "$T/$first.err" "No space left on device"
events=$(number_in $other 'l["delivered"]')
assert_eq "lost" 0 "$(number_in $other 'l["missing"]["lost_events"] + l["lost"] + l["missed"]')"
assert_eq "both parts" "$events" "$(number_in $other 'l["stored"] + l["parts"][0]["events"]')"
[ "$(number_in $first 'l["stored"]')" -ge "$(number_in $other 'l["parts"][0]["events"]')" ] ||
	fail "$first does not have what it has acknowledged"

# Both are full.
look $other dd if=/dev/zero of="$T/$other/more" bs=1k count=65536 2>/dev/null || true
run_program 2 40000 2000 # what it does meanwhile fits into the agent's memory
wait_for 30 "$other to be told full" grep -q "has no room on its disk; what is recorded waits here" "$T/agent.err"
from=$(said "connected to the collector at")
sleep 15
most=$((from + 3)) # its own connection breaks each 12 s, as with one collector
[ "$(said 'connected to the collector at')" -le $most ] || fail "the agent goes to and fro"
assert_eq "moves" 1 "$(said 'trying the next one')"
look $other rm "$T/$other/more"
wait_for 60 "program 2 to be done" grep -q "done" "$T/program2.out"
touch "$T/end2"
wait "${program[2]}"
wait_for 60 "program 2 to be delivered" delivered 2
assert_eq "lost, of program 2" 0 "$(number_in $other 'l["missing"]["lost_events"] + l["lost"] + l["missed"]')"
assert_eq "stored, of program 2" "$(number_in $other 'l["delivered"]')" "$(number_in $other 'l["stored"]')"
kill -TERM "${agent_pid[agent]}"
wait_agent agent
for name in one two; do stop_gather $name; done
echo "left $first, which was full; $events events, none lost"
