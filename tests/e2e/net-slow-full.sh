#!/bin/bash
# A link of 64 kbit/s with each policy: a recording of 200 KB arrives within a minute, and the account balances.
# ctest: LABELS full TIMEOUT 300
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-net-slow.sh"
[ -n "$full" ] || skip "takes two minutes; tests/run --full runs it"
kilobytes=200
slow_link block 180000 1000 --block-max 60s
slow_link count 5000000 20000
slow_link thin 5000000 20000
