#!/bin/bash
# Six collectors of one host want an agent that serves four. One of another host gets in all the same, keeps its place, and has everything.
# ctest: TIMEOUT 120
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"

net_host board 2
net_host desk 3
net_host crowd 4
serve_on board --linger 2s -- "$BUILD/tests/e2e-paced" 400000 1500 "$T/end"
for i in 1 2 3 4 5 6; do gather_on crowd 10.77.0.2 --data "$T/crowd$i"; pids[i]=${gatherer[crowd]}; done
four() { [ "$(grep -c "^.*collector at 10.77.0.4:[0-9]* connected" "$T/board.err")" -ge 4 ]; }
wait_for 20 "four collectors to be connected" four
gather_on desk 10.77.0.2 --data "$T/desk"
wait_for 10 "the other host to get in" grep -q began "$T/desk.log"
wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
sleep 2
touch "$T/end"
wait_idle desk 1
wait "${agent_pid[board]}"
for pid in "${pids[@]}"; do kill "$pid"; done
stop_gather desk
whole desk
assert_eq "times that the other host was connected" 1 "$(grep -c "collector at 10.77.0.3:[0-9]* connected" "$T/board.err")"
assert_contains "the agent's log" "$T/board.err" "closed for 10.77.0.3"
