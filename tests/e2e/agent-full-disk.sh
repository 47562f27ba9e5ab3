#!/bin/bash
# The disk fills up under a recording. The program goes on and keeps its exit status. The agent waits for room as long
# as it was told to, or until a signal. Then it says what is not in the file, and why, and ends. The file has whole
# frames only.
. "$(dirname "$0")/lib.sh"
pairs=$BUILD/tests/e2e-pairs

# not_in_it FILE.err: the count of lost events that the summary tells
not_in_it() {
	sed -nE 's/.* events, ([0-9,]+) lost,.*/\1/p' "$1" | tr -d ,
}

# A device that is always full: nothing can be written from the first frame on.
"$AGENT" run --linger 300ms --block-max 200ms --memory-limit 4M --output /dev/full -- "$pairs" 400000 >"$T/full.out" 2>"$T/full.err" ||
	assert_eq "exit status" 5 $?
assert_eq "standard output" "pairs: 400000" "$(cat "$T/full.out")"
assert_contains "the summary" "$T/full.err" "can't write to /dev/full" "No space left on device" "it has the first 0 events." "Totals, peak and temporary allocations are of that part only"
[ "$(not_in_it "$T/full.err")" -gt 1000 ] || fail "the summary tells no count of what is lost"
if grep -q "^next: collector report" "$T/full.err"; then fail "an empty file is recommended"; fi

# A signal ends the waiting for room.
# ends_by SIGNAL WHAT: the agent $agent, which waits for room, ends by it within 3 s
ends_by() {
	wait_for 20 "the agent to wait for room" grep -q "waiting up to" "$2"
	local since=$SECONDS
	kill -"$1" "$agent"
	status=0
	wait "$agent" || status=$?
	[ $((SECONDS - since)) -le 3 ] || fail "the agent stayed for $((SECONDS - since)) s after SIG$1"
	assert_contains "the agent after SIG$1" "$2" "No space left on device" "it has the first 0 events"
}
"$AGENT" run --linger 60s --block-max 200ms --output /dev/full -- "$pairs" 10000 >/dev/null 2>"$T/term.err" &
agent=$!
ends_by TERM "$T/term.err"
assert_eq "exit status" 5 "$status"

for options in "--for-pid $$ --linger-idle 10s" ""; do
	# shellcheck disable=SC2086
	"$AGENT" serve $options --socket @full --linger 60s --output /dev/full 2>"$T/serve.err" &
	agent=$!
	wait_for 5 "agent serve" grep -q "programs ask" "$T/serve.err"
	# A program that isn't answered in time goes on unrecorded, as may happen on a busy machine.
	for _ in 1 2 3 4 5; do
		HEAPCAST_SOCKET=@full LD_PRELOAD=$PRELOAD "$pairs" 10000 >/dev/null || true
		for _ in 1 2 3 4 5; do
			if grep -q "write to /dev/full" "$T/serve.err"; then break 2; fi
			sleep 0.2
		done
	done
	ends_by TERM "$T/serve.err"
	assert_eq "exit status of agent serve" 3 "$status"
	assert_contains "the last words of agent serve" "$T/serve.err" "could not be delivered and are lost"
done

# A real file system that fills up in the middle of a frame.
mkdir "$T/small"
unshare --mount true 2>/dev/null || skip "the rest needs a mount namespace"
# shellcheck disable=SC2016
unshare --mount -- bash -c '
	mount -t tmpfs -o size=100k none "$1/small" || exit 77
	"$2" run --linger 300ms --block-max 200ms --output "$1/small/x" -- "$3" 1000000
	status=$?
	cp "$1/small/x" "$1/x"
	exit $status' - "$T" "$AGENT" "$pairs" >"$T/small.out" 2>"$T/small.err" || status=$?
[ "$status" != 77 ] || skip "the rest needs a tmpfs"
assert_eq "exit status" 5 "$status"
assert_eq "standard output" "pairs: 1000000" "$(cat "$T/small.out")"
[ "$(not_in_it "$T/small.err")" -gt 1000 ] || fail "the summary tells no count of what is lost"
first=$(sed -nE 's/.*it has the first ([0-9,]+) events.*/\1/p' "$T/small.err" | tr -d ,)
adds_up "$T/x" >"$T/ledger.txt"
stored=$(awk '/^stored here/ { gsub(",", "", $NF); print $NF }' "$T/ledger.txt")
assert_eq "events in the file, as the agent and the collector count them" "$first" "$stored"
