#!/bin/bash
# Twenty agents on ten hosts of one network are found at once, one entry each; one that is started anew is found again.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

hosts=10
net_host desk 100
for i in $(seq "$hosts"); do
	net_host "board$i" "$i"
	agent_on "board$i" "a$i"
	agent_on "board$i" "b$i"
done

# The time of the n-th that was found, of those in a log.
time_of() {
	grep "found an agent at" "$T/$1.log" | awk -v n="$2" 'NR == n { print $1 }'
}

# A busy machine has several tries.
for try in 1 2 3 4 5; do
	look_on desk "try$try"
	wait_for 10 "20 agents" has_connected "try$try" 20
	half=$(time_of "try$try" 10) all=$(time_of "try$try" 20)
	[ "$all" -gt 1000 ] || [ "$half" -gt 300 ] || break
	[ "$try" -lt 5 ] || fail "20 agents took $all ms, ten of them $half ms"
	stop_look "try$try"
done
echo "found 20 agents: $(grep "found an agent at" "$T/try$try.log" | awk '{ printf "%s%s", (NR > 1 ? ", " : ""), $1 }') ms after the start; connected to all after $(grep "connected to" "$T/try$try.log" | tail -n 1 | awk '{ print $1 }') ms"

# Started anew it is another one, at the same place.
since=$(date +%s%N)
stop_agent a3
agent_on board3 again --listen :8100
wait_for 10 "the one that was started anew" has_connected "try$try" 21
echo "one that was started anew was connected to $((($(date +%s%N) - since) / 1000000)) ms after the old one was killed"
sleep 2
assert_eq "agents found" 21 "$(found "try$try")"
assert_eq "connections" 21 "$(connected "try$try")"
stop_look "try$try"

# The other way round: agents that come later are heard at once.
look_on desk late --interface eth0
wait_for 10 "20 agents" has_connected late 20
net_host board11 11
since=$(date +%s%N)
agent_on board11 later
wait_for 10 "the one that came later" has_connected late 21
echo "one that came later was connected to $((($(date +%s%N) - since) / 1000000)) ms after its start"
stop_look late
