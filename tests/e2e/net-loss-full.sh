#!/bin/bash
# As net-loss, with a recording of 200 KB, which has a minute.
# ctest: LABELS full TIMEOUT 300
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
[ -n "$full" ] || skip "takes up to a minute; tests/run --full runs it"
events=170000
. "$TEST_SOURCE/lib-net-loss.sh"
