#!/bin/bash
# A program that begins behind a filter, as services do: a child tries the library's calls before. What it dies of is left out; if that is
# something that recording begins with, the program goes on unrecorded.
. "$(dirname "$0")/lib-serve.sh"

serve daemon --socket "$T/socket" --output "$T/%e_%p.heapcast"

# behind WHAT [VARIABLE=VALUE]: e2e-plain behind that filter. The filter is set by the program
# before it, which knows nothing of us.
behind() {
	local status=0
	"$TARGETS/strict" "$1" prctl exec /usr/bin/env LD_PRELOAD="$PRELOAD" \
		HEAPCAST_SOCKET="$T/socket" ${2:+"$2"} "$BUILD/tests/e2e-plain" >"$T/said" 2>&1 || status=$?
	[ "$status" != 77 ] || skip "no seccomp here"
	assert_eq "exit status behind $1" 5 "$status"
	assert_eq "what the program says behind $1" "done" "$(cat "$T/said")"
}
there() {
	[ "$(recorded 'e2e-plain_*.heapcast')" = "$1" ]
}

behind no-ptrace
wait_for 10 "the recording behind no-ptrace" there 1
behind no-sigaltstack
wait_for 10 "the recording behind no-sigaltstack" there 2
behind no-socket
for what in no-gettid no-munlock no-pwrite64 no-kill no-futex; do
	count=$((${count:-2} + 1))
	behind $what
	wait_for 10 "the recording behind $what" there $count
done
behind no-mremap

# Whom nobody wants to record asks for nothing.
for what in no-gettid no-munlock no-mremap no-socket; do
	behind $what HEAPCAST_OFF=1
done

# It was recorded until it became another program.
status=0
"$AGENT" run --quiet --output "$T/exec.heapcast" -- "$TARGETS/strict" no-socket prctl exec "$BUILD/tests/e2e-plain" >"$T/said" || status=$?
assert_eq "exit status after the exec" 5 "$status"
assert_eq "what the program says after the exec" "done" "$(cat "$T/said")"
stop_serve daemon
there $count || fail "$(recorded 'e2e-plain_*.heapcast') recordings, of $count that can be"
for recording in "$T"/e2e-plain_*.heapcast; do
	"$COLLECTOR" ledger "$recording" >"$T/ledger.txt" ||
		fail "$recording: $(cat "$T/ledger.txt")"
done
