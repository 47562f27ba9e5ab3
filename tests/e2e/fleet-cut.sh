#!/bin/bash
# Each link of 400 agents is cut right behind the last batch. They come again while their streams wait to be finished, or are: what they sent
# is acknowledged all the same, at once, and is there once.
. "$(dirname "$0")/lib.sh"
need python3
[ -x "$BUILD/tests/bench-player" ] || skip "bench-player was not built"
agents=400

cat >"$T/steady.py" <<'END'
import time
live, end = [], time.monotonic() + 1
while time.monotonic() < end:
    live.append(bytearray(1000 + len(live) % 500))
    if len(live) % 3 == 0:
        live.pop(0)
    time.sleep(0.002)
END
"$AGENT" run --quiet --output "$T/steady.heapcast" -- python3 "$T/steady.py"
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen 127.0.0.1:0 >"$T/gather.out" 2>"$T/gather.err" &
gathering=$!
wait_for 10 "the collector" grep -q "for agents that dial in" "$T/gather.out"
port=$(sed -n 's/.*TCP 127.0.0.1:\([0-9]*\) for agents.*/\1/p' "$T/gather.out")
"$BUILD/tests/bench-player" "$T/steady.heapcast" --agents $agents --dial "127.0.0.1:$port" --cut-last --for 60 >"$T/player.out" ||
	fail "not all streams have ended: $(cat "$T/player.out")"
cat "$T/player.out"
wait_for 60 "all streams to end" eval '[ "$(grep -c " ended " "$T/gather.out")" = $agents ]'
kill -INT $gathering
wait $gathering || fail "the collector ended with $?"
"$COLLECTOR" list --data "$T/data" --json >"$T/list.json"
python3 - "$T/list.json" $agents <<'END' || fail "not all streams are as they should be"
import json, sys
streams = json.load(open(sys.argv[1]))["streams"]
assert len(streams) == int(sys.argv[2]), len(streams)
assert {s["state"] for s in streams} == {"ended"}
assert len({(s["events"], s["in_use_bytes"], s["in_use_blocks"]) for s in streams}) == 1
END
