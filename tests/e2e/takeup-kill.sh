#!/bin/bash
# The daemon is killed five times while a program of two threads allocates at full speed, and is started again each
# time. It goes on with the program, as one stream, and what is missing is known to the event.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need_takeup

start_collector
start_daemon --announce --policy block
start_steady 2
for i in 1 2 3 4 5; do
	sleep "0.$((RANDOM % 7 + 3))"
	kill_daemon
	[ "$i" != 5 ] || kill -USR1 "$steady"
	sleep "0.$((RANDOM % 9))"
	[ "$i" != 3 ] || sleep 1.5 # long enough for the program to go on unrecorded
	start_daemon --announce --policy block
	wait_for 5 "the ring to be taken up" taken_up "$i"
done
sleep 1
end_steady
wait_collector
ask_ledger
check_steady
assert_eq "streams" 1 "$(ask list --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(len(d.get("streams", d) if isinstance(d, dict) else d))')"
set -- $(gaps_of "agent was gone")
[ "$1" -ge 5 ] && [ "$2" -gt 0 ] || fail "$1 gaps with $2 events"
adds_up --data "$T/data" >"$T/ledger.txt"
assert_contains "collector ledger" "$T/ledger.txt" "agent was gone" "adds up"
# Stacks are whole again, and modules known: the threads have gone on to another function without an agent.
ask report >"$T/report.txt"
assert_contains "collector report" "$T/report.txt" steady_after
echo "longest time from one allocation to the next: $longest_us us; $(ledger_value produced) events, $(ledger_value lost) lost" >&3
