#!/bin/bash
# ctest: TIMEOUT 300
# A program for big-endian MIPS64, run by an emulator, is recorded by this machine's agent: every block, its backtrace, its time, and what it runs on.
. "$(dirname "$0")/lib-emulated.sh" mips64

emulate recording 7 "$boards/$arch/targets/emulated"
known recording

# Far more threads, one after the other, than the ring has places for.
emulate threads 0 "$boards/$arch/targets/short_threads" 1500

# A ring keeps its byte order: what a shell of this machine turns into by exec goes on unrecorded.
serve agent --socket "$T/socket" --output "$T/exec"
code=0
env HEAPCAST_SOCKET="$T/socket" LD_PRELOAD="$PRELOAD" sh -c 'exec "$@"' sh \
	qemu-mips64-static -L "$libraries" -E "LD_PRELOAD=$library" "$boards/$arch/targets/emulated" >"$T/exec.said" || code=$?
stop_serve agent
assert_eq "exit status of the program" 7 "$code"
assert_contains "the agent's log" "$T/agent.err" "a program of the other byte order now"
"$COLLECTOR" ledger "$T/exec" >"$T/ledger.txt" || fail "the account of the shell does not balance"
