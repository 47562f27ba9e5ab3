#!/bin/bash
# A dead target loses nothing: SIGKILL in the middle, and all that it had done is in the report.
. "$(dirname "$0")/lib.sh"
start_collector
status=0
LD_PRELOAD=$COUNTING COUNTING_OUTPUT=$T/counts "$AGENT" run --policy block --announce --interface lo --quiet -- \
	"$BUILD/tests/e2e-killed" 100000 >"$T/said.txt" 2>"$T/run.err" || status=$?
assert_eq "exit status of agent run (128 + SIGKILL)" 137 "$status"
wait_collector
assert_status 0 ask ledger last >"$T/ledger.txt"

. "$TEST_SOURCE/lib-real.sh"
check_counts "$BUILD/tests/e2e-killed"
said=$(value_of allocations <"$T/said.txt")
assert_eq "blocks of the witness" "$said" "$(value_of calls.malloc <"$T/counted.txt")"
ask report last >"$T/report.txt"
real_names keep_a_block
ask leaks last >"$T/leaks.txt"
assert_contains "collector leaks" "$T/leaks.txt" keep_a_block killed.c:
if grep -q pass_a_block_through "$T/leaks.txt"; then fail "a freed block is shown as leaked"; fi
