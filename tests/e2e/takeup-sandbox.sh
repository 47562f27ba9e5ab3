#!/bin/bash
# A program that dies of any system call but the few that libc's allocator makes is still taken up. No system call is
# made in it, neither when its agent goes nor when another one comes.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup.sh"
need_takeup
mkfifo "$T/rounds"

round() {
	printf . >&4
	wait_for 10 "round $1" grep -q "round $1" "$T/out"
}

start_collector
start_daemon --announce --policy block
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$TARGETS/sandbox" rounds <"$T/rounds" >"$T/out" 2>"$T/sandbox.err" &
sandbox=$!
exec 4>"$T/rounds"
round 2
round 3
kill_daemon
round 4
start_daemon --announce --policy block
round 5
round 6
exec 4>&-
status=0
wait "$sandbox" || status=$?
[ "$status" != 77 ] || skip "no seccomp here"
assert_eq "exit status of the program" 9 "$status"
assert_contains "its output" "$T/out" "allocations 140000"
wait_collector
ask_ledger
assert_eq "pending" 0 "$(ledger_value pending)"
[ "$(ledger_value produced)" -ge 280000 ] || fail "$(ledger_value produced) events were produced"
ask report >"$T/report.txt"
assert_contains "collector report" "$T/report.txt" deeper
