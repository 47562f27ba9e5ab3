#!/bin/bash
# Only LD_PRELOAD was typed. The library starts an agent beside the program. The program sees nothing of that agent (no
# output, no child, no pipe held open), and all arrives.
. "$(dirname "$0")/lib.sh"
start_collector
status=0
started=$SECONDS
# Without an end of the pipe that stays open in the agent, `cat` ends with the program.
HEAPCAST_ANNOUNCE=1 HEAPCAST_INTERFACE=lo LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-plain" 2>"$T/alone.err" |
	cat >"$T/alone.out" || status=${PIPESTATUS[0]}
[ $((SECONDS - started)) -le 5 ] || fail "something held the program's pipe open for $((SECONDS - started)) s"
assert_eq "exit status" 5 "$status"
assert_eq "standard output" done "$(cat "$T/alone.out")"
assert_eq "standard error" "" "$(cat "$T/alone.err")"
wait_collector
assert_status 0 ask ledger last >"$T/ledger.txt"
ask list >"$T/list.txt"
assert_contains "collector list" "$T/list.txt" e2e-plain
ask leaks last >"$T/leaks.txt"
assert_contains "collector leaks" "$T/leaks.txt" plain.c:
