#!/bin/bash
# Hosts without IPv4 find each other by link-local multicast. A host that can be found by both is one agent. --interface
# narrows both ends, to IPv6 as to IPv4. Addresses of IPv6 can be named.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

net_host desk 100
net_host board 2
net_six desk
net_six board
on desk ip address flush dev eth0 scope global
on board ip address flush dev eth0 scope global

# 1. IPv6 only. What is recorded comes over.
agent_on board only --interface eth0
look_on desk six --interface eth0
wait_for 20 "the agent" has_connected six 1
assert_contains "the collector's log" "$T/six.log" "found an agent at [fe80::" "%eth0]:8100"
assert_status 5 on board env LD_PRELOAD="$PRELOAD" HEAPCAST_SOCKET=@only "$BUILD/tests/e2e-pairs" 1000 >/dev/null
wait_idle six 1
balances six
stop_look six
stop_agent only
echo "IPv6 only: found after $(grep -m 1 "found an agent" "$T/six.log" | awk '{ print $1 }') ms"

# 2. Both, from both ends' view: one entry, one link.
on desk ip address add 10.77.0.100/24 broadcast + dev eth0
on board ip address add 10.77.0.2/24 broadcast + dev eth0
agent_on board both
look_on desk both
wait_for 10 "the agent" has_connected both 1
sleep 4
assert_eq "agents found" 1 "$(found both)"
assert_eq "connections" 1 "$(connected both)"
stop_look both

# 3. By name, without discovery; and dialling out.
six=$(on board ip -6 address show dev eth0 scope link | sed -nE 's/.*inet6 ([^/]*).*/\1/p')
look_on desk named --no-discovery --listen off "[$six%eth0]:8100"
wait_for 10 "the agent that was named" has_connected named 1
stop_look named
six=$(on desk ip -6 address show dev eth0 scope link | sed -nE 's/.*inet6 ([^/]*).*/\1/p')
look_on desk dialled --no-discovery --listen "[::]:43513"
nsenter --net="/proc/${net_pid[board]}/ns/net" -- "$AGENT" serve --socket @dials --memory-limit 2M --config "" --collector "[$six%eth0]" 2>>"$T/dials.err" &
agent_pid[dials]=$!
wait_for 10 "the agent that dials" has_connected dialled 1
stop_look dialled
stop_agent dials

# 4. Told to keep to another interface, neither end hears the other, and who knows the address is turned away.
ip link add to-desk-2 type veth peer name other netns "${net_pid[desk]}"
ip link set to-desk-2 up
on desk ip address add 10.80.0.100/24 broadcast + dev other
on desk ip link set other up
look_on desk narrow --interface other
sleep 3
assert_eq "agents found by the interface where none is" 0 "$(found narrow)"
stop_look narrow
stop_agent both
ip link add to-board-2 type veth peer name other netns "${net_pid[board]}"
ip link set to-board-2 up
on board ip address add 10.80.0.2/24 broadcast + dev other
on board ip link set other up
agent_on board narrow-agent --interface other
look_on desk wide
sleep 3
assert_eq "agents found that keep to another interface" 0 "$(found wide)"
stop_look wide
look_on desk asked --no-discovery --listen off 10.77.0.2:8100
wait_for 10 "the agent to turn it away" grep -q "did not come to an address of other" "$T/narrow-agent.err"
assert_eq "connections" 0 "$(connected asked)"
stop_look asked
