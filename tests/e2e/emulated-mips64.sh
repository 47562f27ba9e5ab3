#!/bin/bash
# ctest: LABELS full TIMEOUT 300
# A program for big-endian MIPS64, run by an emulator, is recorded by the agent of that board: every block, its backtrace, its time, and what it runs on.
. "$(dirname "$0")/lib-emulated.sh" mips64

emulate recording 7 "$boards/$arch/targets/emulated"
known recording

# Far more threads, one after the other, than the ring has places for.
emulate threads 0 "$boards/$arch/targets/short_threads" 1500

# An agent of the other byte order refuses it, and each side says why. The program does what it does without.
AGENT=$native
serve agent --socket "$T/socket" --output "$T/refused"
code=0
qemu-mips64-static -L "$libraries" -E "LD_PRELOAD=$library" -E "HEAPCAST_SOCKET=$T/socket" "$boards/$arch/targets/emulated" \
	>"$T/refused.said" 2>"$T/refused.err" || code=$?
stop_serve agent
assert_eq "exit status of the program" 7 "$code"
assert_contains "the agent's log" "$T/agent.err" "has the other byte order than this agent" "build an agent for its processor"
assert_contains "what the program says" "$T/refused.err" "the agent has the other byte order"
[ ! -e "$T/refused" ] || fail "something was recorded"
