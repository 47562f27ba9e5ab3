#!/bin/bash
# ctest: LABELS full
# What was recorded while an agent was paired belongs to its installation. An agent without a key, with another one, or
# of another installation sends no word of it, from the ring or from the folder of the spool. An agent with the same
# folder of keys goes on, also if the former key is gone and there is another one. While there is no key, it sends
# nothing to anybody.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
. "$TEST_SOURCE/lib-secure.sh"
. "$TEST_SOURCE/lib-pairing.sh"
need_takeup
make_key other
spool=(--spool "$T/spool" --spool-limit 8M)
lo=(--interface lo)

pair_as() {
	pair_begin "$1" "${lo[@]}" --name "$1"
	join "$1" 0 "${code[$1]}" "${lo[@]}" --name "$1"
	pair_end "$1" 0
}

# left_alone WHAT OPTION...: such a daemon starts, finds the program, and leaves it alone
left_alone() {
	local what=$1
	shift
	: >"$T/serve.err"
	daemon_says=0
	start_daemon "$@"
	wait_for 5 "the log of $what" grep -q "pid $steady was recorded by an agent that is gone, of another socket, network or key" "$T/serve.err"
	if grep -q "recording pid $steady" "$T/serve.err"; then fail "$what has taken the program up"; fi
	if grep -q "an earlier agent ended before" "$T/serve.err"; then fail "$what brings what a paired agent has spooled"; fi
	kill_daemon
}

pair_as first
start_daemon --listen 127.0.0.1:8401 --policy count "${spool[@]}"
start_steady 2
wait_for 30 "the spool" eval "find '$T/spool' -name '*.frames' | grep -q ."
sleep 0.5
kill_daemon
kill -0 "$steady" || fail "the program has ended"

left_alone "an agent without a key" --keys '' --listen 127.0.0.1:8402 "${spool[@]}"
left_alone "an agent with a key" --key "$T/other.key" --listen 127.0.0.1:8403 "${spool[@]}"
HEAPCAST_KEYS=$T/elsewhere pair_as elsewhere
left_alone "an agent of another installation" --keys "$T/elsewhere" --listen 127.0.0.1:8404 "${spool[@]}"

# The key of then is gone on both sides, there is none: it is taken up, and nobody gets anything.
"$AGENT" pair --forget first >"$T/forgot"
"$COLLECTOR" pairs revoke first elsewhere >"$T/revoked"
: >"$T/serve.err"
daemon_says=0
start_daemon --listen 127.0.0.1:8405 --policy count "${spool[@]}"
wait_for 5 "the one that may" grep -q "recording pid $steady .* which another agent had begun to record" "$T/serve.err"
assert_contains "the log" "$T/serve.err" "an earlier agent ended before a collector had received everything" "no pair is left"
HEAPCAST_PAIRS= gather plain --no-discovery --listen off 127.0.0.1:8405
gather desk --no-discovery --listen off 127.0.0.1:8405
sleep 3
assert_eq "streams without a key" "" "$(ls "$T/plain/streams" "$T/desk/streams" 2>/dev/null | grep -v : || true)"

# Another one, while both run: what waited comes, in the order of its agents, and with nothing missing that was said to be there.
pair_as second
wait_for 20 "the stream" eval '[ "$(cat "$T"/desk/streams/*/recording.heapcast | wc -c)" -gt 1000 ]'
kill -TERM "$steady"
wait "$steady" || true
wait_idle desk 1
stop_gather plain
stop_gather desk
assert_eq "streams of who is not paired" "" "$(ls "$T/plain/streams" 2>/dev/null)"
balances desk
kill -TERM "$daemon"
wait "$daemon" || true
echo "left alone by three that may not; taken up by the installation, and sent under a key that was made later"
