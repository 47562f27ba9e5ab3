#!/bin/bash
# A user's own daemon is killed and started again. It has no right to the rings of its programs, so they go on
# unrecorded and unharmed. It says so, and records those that are started from then on. What came before is kept, and
# its account balances.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
user=(env)
if can_take_up; then
	need setpriv
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 777 "$T"
	"${user[@]}" test -r "$PRELOAD" || skip "another user can't read the build folder"
fi

user_steady() {
	HEAPCAST_SOCKET="$T/socket" "${user[@]}" env LD_PRELOAD="$PRELOAD" "$TARGETS/steady" 2 >"$T/steady.out" 2>"$T/steady.err" &
	steady=$!
	wait_for 10 "the program" grep -q started "$T/steady.out"
}

streams() {
	ask list --json | grep -o '"id": *"[0-9a-f]*"' | grep -o '[0-9a-f]\{32\}'
}

start_collector
start_daemon_as "${user[@]}" -- --announce --policy block
user_steady
wait_for 10 "the first stream" grep -q "sends stream" "$T/serve.err"
sleep 1
kill_daemon
sleep 1.5
start_daemon_as "${user[@]}" -- --announce --policy block
wait_for 5 "the warning" grep -q "needs root or CAP_CHECKPOINT_RESTORE" "$T/serve.err"
sleep 0.5
end_steady
echo "longest time from one allocation to the next: $longest_us us" >&3
assert_eq "programs recorded" 1 "$(grep -c "recording pid" "$T/serve.err")"

# The next one is recorded, to its end.
first=$(streams)
user_steady
sleep 0.5
end_steady
wait_for 10 "its end" grep -q "pid $steady, ended" "$T/serve.err"
kill -TERM "$collector_pid"
wait "$collector_pid" || true
assert_contains "collector list" <(ask list) interrupted
assert_eq "streams" 2 "$(streams | wc -l)"
for stream in $(streams); do
	ask_ledger "$stream"
	[ "$(ledger_value stored)" -gt 1000 ] || fail "stream $stream is empty"
	[ "$stream" = "$first" ] || assert_eq "events lost of the second program" 0 "$(ledger_value pending)"
done
kill -TERM "$daemon"
wait "$daemon" || fail "agent serve ended with $?"
