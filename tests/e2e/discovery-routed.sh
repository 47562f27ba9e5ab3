#!/bin/bash
# Board and desk are in two subnets, with a router between them that passes no broadcasts. They meet by HOST:PORT, and
# by an agent that dials out. Without these nobody is found, and the message says why.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"
. "$TEST_SOURCE/lib-discovery.sh"

net_host desk 100
net_host board 2
# The other subnet is another cable: a bridge of its own.
ip link add far type bridge
ip link set far up
ip link set to-board nomaster
ip link set to-board master far
on board ip address flush dev eth0 scope global
on board ip address add 10.79.0.2/24 broadcast + dev eth0
ip address add 10.77.0.1/24 dev bridge
ip address add 10.79.0.1/24 dev far
echo 1 >/proc/sys/net/ipv4/ip_forward
on desk ip route add default via 10.77.0.1
on board ip route add default via 10.79.0.1
wait_for 10 "the router" on desk python3 -c '
import socket
s = socket.socket(); s.settimeout(1)
try: s.connect(("10.79.0.2", 9))
except ConnectionRefusedError: pass'

agent_on board named
look_on desk alone --for 2s
wait "${gatherer[alone]}"
assert_eq "agents found" 0 "$(found alone)"
assert_contains "what a collector says that has found nobody" "$T/alone.err" "No agent has been found. Listening on UDP port 43513" \
	"do not pass routers" "collector gather HOST"

look_on desk there 10.79.0.2:8100
wait_for 20 "the agent that was named" has_connected there 1
on board env LD_PRELOAD="$PRELOAD" HEAPCAST_SOCKET=@named "$BUILD/tests/e2e-pairs" 200 >/dev/null || true
wait_idle there 1
stop_look there
balances there
stop_agent named

look_on desk here --listen 0.0.0.0:43513 --once
assert_status 5 nsenter --net="/proc/${net_pid[board]}/ns/net" -- "$AGENT" run --policy block --quiet --collector 10.77.0.100 -- "$BUILD/tests/e2e-pairs" 2000 >/dev/null
wait "${gatherer[here]}"
whole here
assert_contains "the collector's log" "$T/here.log" "connected to 10.79.0.2:"
echo "named: connected after $(grep -m 1 "connected to" "$T/there.log" | awk '{ print $1 }') ms; both subnets met both ways"
