#!/bin/bash
# As stacks.oracle, with at least a million stacks of each program.
# ctest: LABELS full TIMEOUT 3600 COST 600
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
[ -n "$full" ] || skip "takes minutes; tests/run --full runs it"
PROGRAMS="cc1plus python3 clang perl gdb git stress" LEAST=3
PER_PROGRAM=1200000 # a stack that another thread's comparison keeps busy is not compared
. "$TEST_SOURCE/lib-stacks-oracle.sh"
[ "$total" -ge 7000000 ] || skip "not all of the programs are installed"
