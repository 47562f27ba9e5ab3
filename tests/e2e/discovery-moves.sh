#!/bin/bash
# ctest: LABELS full
# An agent changes its address while it streams: it is found again, and the stream goes on without a loss. One with two
# interfaces is one agent; when one of them goes, the other one serves. An interface that comes later is used.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

net_host desk 100
net_host board 2
net_four desk
net_four board

paced_on() {
	local name=$1 events=$2
	shift 2
	rm -f "$T/end"
	nsenter --net="/proc/${net_pid[$name]}/ns/net" -- "$AGENT" run --policy block --announce --quiet --log info --memory-limit 64M "$@" -- \
		"$BUILD/tests/e2e-paced" "$events" 20000 "$T/end" >"$T/$name.out" 2>>"$T/$name.err" &
	agent_pid[$name]=$!
}

size_of() {
	cat "$T/$1"/streams/*/recording.heapcast | wc -c
}

# The stream of collector $1, which had $3 bytes, grows again; prints how long that took since $2.
goes_on() {
	local tag=$1 since=$2 size=$3 what=$4
	wait_for 30 "the stream to go on $what" eval "[ \$(size_of $tag) -gt $((size + 1000)) ]"
	echo "$what the stream went on after $((($(date +%s%N) - since) / 1000000)) ms"
}

finish_stream() {
	local tag=$1
	wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
	touch "$T/end"
	wait_idle "$tag" 1
	wait_agent board
	stop_look "$tag"
	whole "$tag"
}

# 1. Another address.
look_on desk moved
paced_on board 1000000
wait_for 40 "the stream" eval '[ "$(size_of moved)" -gt 50000 ]'
since=$(date +%s%N) size=$(size_of moved)
on board ip address add 10.77.0.3/24 broadcast + dev eth0
on board ip address del 10.77.0.2/24 dev eth0
grep -q 'inet 10.77.0.3/24' <(on board ip address show dev eth0) || on board ip address add 10.77.0.3/24 broadcast + dev eth0
wait_for 30 "it to be found again" grep -q "connected to 10.77.0.3:" "$T/moved.log"
goes_on moved "$since" "$size" "with another address"
assert_eq "agents found" 1 "$(found moved)"
assert_contains "the collector's log" "$T/moved.log" "its agent is at 10.77.0.3:"
finish_stream moved

# 2. Two interfaces, by either of which it can be heard: the second one comes later.
rm -f "$T/board.err"
look_on desk twice
paced_on board 2000000
wait_for 40 "the stream" eval '[ "$(size_of twice)" -gt 50000 ]'
ip link add to-board-2 type veth peer name eth1 netns "${net_pid[board]}"
ip link set to-board-2 master bridge up
on board ip link set eth1 up
on board ip address add 10.78.0.2/24 broadcast + dev eth1
on desk ip address add 10.78.0.100/24 broadcast + dev eth0
sleep 4
assert_eq "agents found" 1 "$(found twice)"
assert_eq "connections" 1 "$(connected twice)"
on board ip link del eth0
since=$(date +%s%N) size=$(size_of twice)
wait_for 30 "it to be reached by the other interface" grep -q "connected to 10.78.0.2:" "$T/twice.log"
goes_on twice "$since" "$size" "by the other interface"
assert_eq "agents found" 1 "$(found twice)"
finish_stream twice
