#!/bin/bash
# As stacks.check, with at least a million stacks of each program and ten in all.
# ctest: LABELS full TIMEOUT 3600 COST 600
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
[ -n "$full" ] || skip "takes minutes; tests/run --full runs it"
PROGRAMS="cc1plus python3 sqlite3 lua5.4 clang perl gdb git node churn rise rise_new" LEAST=4
PER_PROGRAM=1000000 TOTAL=10000000
. "$TEST_SOURCE/lib-stacks-check.sh"
