#!/bin/bash
# As resume-kills, over a network: twenty kills while two agents on two boards stream five million events each.
# ctest: LABELS full TIMEOUT 300
full=${HEAPCAST_TEST_FULL:-}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
[ -n "$full" ] || skip "takes a minute; tests/run --full runs it"
kills=20 events=5000000 pause=8000
net_host one 2
net_host two 3
net_host quiet 4
net_host killed 5

begin_quiet() {
	gather_on quiet 10.77.0.2 10.77.0.3
}

begin_killed() {
	gather_on killed 10.77.0.2 10.77.0.3
}

begin_agent() {
	local name=$1
	shift
	serve_on "$name" --memory-limit 64M -- "$@"
}
. "$TEST_SOURCE/lib-resume-kills.sh"
