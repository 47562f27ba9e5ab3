#!/bin/bash
# As net-cut, for 10 s; and for 20 s, when both sides have given the connection up.
# ctest: LABELS full TIMEOUT 300
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-net-cut.sh"
[ -n "$full" ] || skip "takes a minute; tests/run --full runs it"
cut_for 10 2000000
cut_for 20 3000000
