#!/bin/bash
# 2,000 agents stream at once to one collector with its defaults, and some of them are cut off now and then. All are
# recorded, and nothing is lost. The collector stays below its memory limit, and names and lists them quickly meanwhile.
# ctest: LABELS full TIMEOUT 900 COST 300
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
need python3 curl
[ -n "$full" ] || skip "needs minutes: tests/run --full runs it"
[ "$(ulimit -Hn)" -ge 12000 ] || skip "this user may have $(ulimit -Hn) files open: 12,000 are needed"
ulimit -n "$(ulimit -Hn)"
agents=2000

cat >"$T/steady.py" <<'END'
import time
live, end = [], time.monotonic() + 20
while time.monotonic() < end:
    live.append(bytearray(1000 + len(live) % 500))
    if len(live) % 3 == 0:
        live.pop(0)
    time.sleep(0.002)
END
"$AGENT" run --quiet --output "$T/steady.heapcast" -- python3 "$T/steady.py"
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen 127.0.0.1:0 --http 127.0.0.1:18095 >"$T/gather.out" 2>"$T/gather.err" &
gathering=$!
wait_for 10 "the collector" grep -q "for agents that dial in" "$T/gather.out"
port=$(sed -n 's/.*TCP 127.0.0.1:\([0-9]*\) for agents.*/\1/p' "$T/gather.out")
"$BUILD/tests/bench-player" "$T/steady.heapcast" --agents $agents --dial 127.0.0.1:$port --spread 10 --cut 5 --for 600 >"$T/player.out" &
playing=$!
while kill -0 $playing 2>/dev/null; do
	curl -s -o "$T/list.json" -w '%{time_total}\n' http://127.0.0.1:18095/list >>"$T/lists"
	sleep 1
done
wait $playing || fail "not all streams have ended: $(cat "$T/player.out")"
cat "$T/player.out"
wait_for 60 "all streams to end" eval '[ "$(grep -c " ended " "$T/gather.out")" = $agents ]'
resident=$(awk '/VmHWM/ { print $2 }' /proc/$gathering/status)
kill -INT $gathering
wait $gathering || fail "the collector ended with $?"
echo "resident at most: $resident KiB; list: $(sort -n "$T/lists" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)], "s median,", a[NR], "at most" }')"
[ "$resident" -lt $((512 << 10)) ] || fail "it held $resident KiB"
if grep -q "has no place" "$T/gather.err"; then fail "somebody was turned away"; fi

"$COLLECTOR" list --data "$T/data" --json >"$T/list.json"
python3 - "$T/list.json" $agents <<'END' || fail "not all agents are in the list, as they should be"
import json, sys
streams = json.load(open(sys.argv[1]))["streams"]
assert len(streams) == int(sys.argv[2]), len(streams)
assert {s["state"] for s in streams} == {"ended"}
assert len({(s["events"], s["in_use_bytes"], s["in_use_blocks"]) for s in streams}) == 1
assert not any(s.get("incomplete") for s in streams)
END
