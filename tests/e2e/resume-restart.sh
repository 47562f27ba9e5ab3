#!/bin/bash
# An agent dials a collector that is restarted, in order and by SIGKILL, and is away for a moment each time. Another
# collector is there all the time. Both have the same in the end. What was stored before is found again after a restart.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
gather quiet --no-discovery --listen off 127.0.0.1:8101
gather away --no-discovery --listen 127.0.0.1:43514
start_agent one 8101 --collector 127.0.0.1:43514 --memory-limit 32M -- "$BUILD/tests/e2e-paced" 1200000 25000 "$T/end"
# Something new since the last time, unless that was the last.
stored() {
	[ "$(stat -c %s "$T"/away/streams/*/recording.heapcast)" -gt "$1" ] || [ -s "$T/one.out" ]
}
size=1 running=0
for how in stop_gather kill_gather stop_gather kill_gather; do
	wait_for 20 "the stream to go on" stored "$size"
	"$how" away
	[ -s "$T/one.out" ] || running=$((running + 1))
	size=$(stat -c %s "$T"/away/streams/*/recording.heapcast)
	sleep 0.3
	gather away --no-discovery --listen 127.0.0.1:43514
done
wait_for 60 "the program to be done" grep -q "done" "$T/one.out"
wait_for 20 "the agent to dial again" eval '[ "$(grep -c "goes on" "$T/away.log")" -ge 4 ]'
touch "$T/end"
wait_idle quiet 1
wait_idle away 1
wait_agent one
stop_gather quiet
stop_gather away
same_columns quiet away
balances away
[ "$running" -ge 2 ] || fail "only $running of 4 restarts were while the program ran"
echo "4 restarts, $running of them while the program ran"
