#!/bin/bash
# As stress, for an hour.
# ctest: LABELS "full;hours" TIMEOUT 4000 COST 3600
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
[ -n "$full" ] || skip "takes an hour; tests/run --full runs it"
SECONDS_LONG=3600
. "$TEST_SOURCE/lib-stress.sh"
