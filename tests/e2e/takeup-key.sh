#!/bin/bash
# Only an agent that has the same key, at the same socket, in the same network, takes up what was recorded under a key.
# Nobody else sends a word of it, from the ring or from the folder of the spool. What was settled for the program holds
# for the next agent, too.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
. "$TEST_SOURCE/lib-secure.sh"
need_takeup
make_key own
make_key other
spool=(--spool "$T/spool" --spool-limit 8M)

# left_alone WHAT OPTION...: such a daemon starts, finds the program, and leaves it alone
left_alone() {
	local what=$1
	shift
	: >"$T/serve.err"
	daemon_says=0
	start_daemon "$@"
	wait_for 5 "the log of $what" grep -q "pid $steady was recorded by an agent that is gone, of another socket, network or key" "$T/serve.err"
	if grep -q "recording pid $steady" "$T/serve.err"; then fail "$what has taken the program up"; fi
	if grep -q "an earlier agent ended before" "$T/serve.err"; then fail "$what brings what an agent with a key has spooled"; fi
	kill_daemon
}

start_daemon --key "$T/own.key" --listen 127.0.0.1:8101 --policy count "${spool[@]}"
start_steady 2
HEAPCAST_OUTPUT=$T/mine.heapcast HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$TARGETS/steady" 1 >"$T/mine.out" 2>"$T/mine.err" &
mine=$!
wait_for 10 "the recording" test -s "$T/mine.heapcast"
wait_for 30 "the spool" eval "find '$T/spool' -name '*.frames' | grep -q ."
sleep 0.5
kill_daemon
kill -0 "$steady" || fail "the program has ended"

left_alone "an agent without a key" --listen 127.0.0.1:8102 "${spool[@]}"
left_alone "an agent with another key" --key "$T/other.key" --listen 127.0.0.1:8103 "${spool[@]}"
if unshare --net true 2>/dev/null; then
	: >"$T/serve.err"
	daemon_says=0
	start_daemon_as unshare --net -- --key "$T/own.key"
	wait_for 5 "the log of another network" grep -q "pid $steady was recorded by an agent that is gone" "$T/serve.err"
	if grep -q "recording pid $steady" "$T/serve.err"; then fail "an agent in another network has taken the program up"; fi
	kill_daemon
fi
mv "$T/socket" "$T/socket.away" 2>/dev/null || true
"$AGENT" serve --socket "$T/elsewhere" --key "$T/own.key" 2>"$T/elsewhere.err" &
elsewhere=$!
wait_for 10 "an agent at another socket" grep -q "programs ask" "$T/elsewhere.err"
wait_for 5 "the log of another socket" grep -q "pid $steady was recorded by an agent that is gone" "$T/elsewhere.err"
kill -KILL "$elsewhere"
wait "$elsewhere" 2>/dev/null || true

# The one with the key at that socket goes on: the stream, the program's own file, the spool.
: >"$T/serve.err"
daemon_says=0
start_daemon --key "$T/own.key" --listen 127.0.0.1:8104 --policy count "${spool[@]}"
wait_for 5 "the one that may" grep -q "recording pid $steady .* which another agent had begun to record" "$T/serve.err"
assert_contains "the log" "$T/serve.err" "an earlier agent ended before a collector had received everything"
wait_for 10 "the next part of the program's own file" test -s "$T/mine.2.heapcast"
kill -TERM "$steady" "$mine"
wait "$steady" "$mine" || true
wait_for 10 "the end" grep -q "steady, pid $mine, ended" "$T/serve.err"
kill -TERM "$daemon"
wait "$daemon" || true
cat "$T/mine.heapcast" "$T/mine.2.heapcast" >"$T/both.heapcast"
adds_up "$T/both.heapcast" >"$T/ledger.txt" || fail "both parts do not add up: $(cat "$T/ledger.txt")"
