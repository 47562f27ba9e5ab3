#!/bin/bash
# Our stacks are libunwind's.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
export HEAPCAST_ORACLE_EVERY=7
PROGRAMS="cc1plus python3 stress" LEAST=2
PER_PROGRAM=1 work_once=1
. "$TEST_SOURCE/lib-stacks-oracle.sh"
[ "$total" -ge 50000 ] || fail "that is not enough to say anything"
