#!/bin/bash
# With --collector an agent serves that one, also where it listens: others who come are turned away, and told so in the agent's log.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"

net_host board 2
net_host desk 3
net_host stranger 4

serve_on board --announce --collector 10.77.0.3:43514 -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end"
gather_on stranger 10.77.0.2:8100
nsenter --net="/proc/${net_pid[stranger]}/ns/net" -- "$COLLECTOR" gather --data "$T/finds" >"$T/finds.log" 2>&1 &
gatherer[finds]=$!
wait_for 10 "its beacon" grep -q "found an agent at" "$T/finds.log"
sleep 2
for name in stranger finds; do assert_eq "connections of $name" 0 "$(grep -c "connected to" "$T/$name.log" || true)"; done
assert_contains "the agent's log" "$T/board.err" "turned 10.77.0.4:" "serves no other"
[ "$(grep -c "turned 10.77.0.4" "$T/board.err")" -le 2 ] || fail "the log is flooded"

# That one, by whichever of the two ways.
gather_on desk 10.77.0.2:8100
wait_for 10 "the stream" grep -q began "$T/desk.log"
stop_gather desk
nsenter --net="/proc/${net_pid[desk]}/ns/net" -- "$COLLECTOR" gather --data "$T/desk" --no-discovery --listen 10.77.0.3:43514 >>"$T/desk.log" 2>&1 &
gatherer[desk]=$!
wait_for 10 "the agent to dial" grep -q "goes on" "$T/desk.log"
touch "$T/end"
wait_agent board
wait_idle desk 1
for name in desk stranger finds; do stop_gather $name; done
whole desk
[ -z "$(streams stranger)$(streams finds)" ] || fail "others got it, too"
