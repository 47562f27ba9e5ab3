#!/bin/bash
# Beacons of thousands of agents that do not exist, 300 a second, from one address and from as many as a network has.
# Three true agents are still found within seconds.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

net_host desk 100
net_host stranger 66
for board in 1 2 3; do net_host "board$board" "$board"; done
for host in desk stranger board1 board2 board3; do net_four "$host"; done

is_connected() {
	local board
	for board in 1 2 3; do
		grep -q "connected to 10.77.0.$board:" "$T/$1.log" || return 1
	done
}

flooded() { # TAG RATE PORT [NETWORK]
	local tag=$1 rate=$2 flood board began
	shift
	on stranger python3 "$TEST_SOURCE/lib-discovery.py" forge 10.77.0.255 25 "$@" >"$T/forged" &
	flood=$!
	look_on desk "$tag"
	wait_for 10 "the flood" eval '[ "$(found "$tag")" -gt 20 ]'
	sleep 4 # there is no room left where everybody has what he likes
	began=$(date +%s%N)
	for board in 1 2 3; do agent_on "board$board" "$tag-$board"; done
	wait_for 15 "three agents" is_connected "$tag"
	kill -0 $flood || fail "the flood was over"
	printf '%s: three agents were connected to after %d ms; %d forged ones were told of\n' \
		"$tag" "$((($(date +%s%N) - began) / 1000000))" "$(found "$tag")"
	kill $flood
	wait $flood || true
	for board in 1 2 3; do stop_agent "$tag-$board"; done
	stop_look "$tag"
}
flooded one-address 300 8100
flooded one-address-fast 3000 9100
flooded many-addresses 300 8101 10.77.0
