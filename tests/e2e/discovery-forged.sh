#!/bin/bash
# Beacons of other agents say that they listen where a true agent does, which has nothing to send for longer than a
# silent link is believed in. Its link stays. When it is gone and another agent is there, the collector connects to that
# one.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need python3

"$AGENT" serve --announce --interface lo --listen 127.0.0.1:8170 --config "" --socket @first --log info 2>"$T/first.err" &
first=$!
wait_for 10 "the agent" grep -q "listening for collectors" "$T/first.err"
gather desk --interface lo --listen off
wait_for 20 "its link" grep -q "connected to 127.0.0.1:8170" "$T/desk.log"
python3 "$TEST_SOURCE/lib-discovery.py" forge 127.255.255.255 8 5 8170 >"$T/forged"
assert_eq "links" 1 "$(grep -c "connected to" "$T/desk.log")"
if grep "disconnected" "$T/desk.log" >&3; then fail "the link was given up"; fi
[ "$(grep -c "found an agent" "$T/desk.log")" -gt 10 ] || fail "the forged ones were not heard"

kill -KILL "$first"
wait "$first" 2>/dev/null || true
"$AGENT" serve --announce --interface lo --listen 127.0.0.1:8170 --config "" --socket @second --log info 2>"$T/second.err" &
wait_for 20 "a link to another agent at the same place" eval '[ "$(grep -c "connected to" "$T/desk.log")" = 2 ]'
stop_gather desk
