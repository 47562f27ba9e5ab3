#!/bin/bash
# As handover, for a minute each.
# ctest: LABELS full TIMEOUT 1800 COST 300
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-handover.sh"
[ -n "$full" ] || skip "takes minutes; tests/run --full runs it"
gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
[ "$gib" -ge 8 ] || skip "the collector pairs 60 million blocks in memory: needs 8 GiB, $gib are free"
handover 1 60
handover 4 60
