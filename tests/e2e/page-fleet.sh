#!/bin/bash
# ctest: LABELS full
# The page of a collector at work: a live stream appears, moves and ends before somebody's eyes, and one finds no place.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"

"$COLLECTOR" gather --interface lo --agents-max 1 --data "$T/data" --http 127.0.0.1:18085 >"$T/gather.out" 2>"$T/gather.err" &
wait_for 10 "the page" curl -s -o "$T/first" http://127.0.0.1:18085/
page=http://127.0.0.1:18085
cat >"$T/grows.py" <<'PYTHON'
import os, sys, time
kept = []
while not os.path.exists(sys.argv[1]):
    kept.append([bytearray(2000) for _ in range(100)])
    if len(kept) > 50:
        kept.pop(0)
    time.sleep(0.02)
PYTHON
(
	while [ ! -e "$T/go" ]; do sleep 0.1; done
	exec "$AGENT" run --quiet --announce --interface lo -- /usr/bin/python3 "$T/grows.py" "$T/stop"
) >"$T/agent.out" 2>"$T/agent.err" &
agent=$!
(
	while [ ! -e "$T/second" ]; do sleep 0.1; done
	exec "$AGENT" run --quiet --announce --interface lo --output "$T/second.heapcast" -- /usr/bin/python3 "$T/grows.py" "$T/stop"
) >"$T/second.out" 2>"$T/second.err" &
second=$!
play fleet "$T/go" "$T/stop" grows.py "$T/second"
wait "$agent"
wait "$second"
