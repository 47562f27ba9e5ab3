#!/bin/bash
# A collector is killed -9 again and again while two agents stream to it, and to a second collector that nothing
# disturbs. In the end both have the same, batch by batch, and every account balances.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
kills=6 events=600000 pause=15000
declare -A port=([one]=8101 [two]=8102)

begin_quiet() {
	gather quiet --no-discovery --listen off 127.0.0.1:8101 127.0.0.1:8102
}

begin_killed() {
	gather killed --no-discovery --listen off 127.0.0.1:8101 127.0.0.1:8102
}

begin_agent() {
	local name=$1
	shift
	start_agent "$name" "${port[$name]}" --memory-limit 64M -- "$@"
}
. "$TEST_SOURCE/lib-resume-kills.sh"
