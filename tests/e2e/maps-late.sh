#!/bin/bash
# Each step of maps tells only what is new. A collector that comes when many steps are gone gets all regions anew, under
# load. It ends with the same maps as one that was there from the start.
. "$(dirname "$0")/lib.sh"
need python3

cat >"$T/program.py" <<-'PYTHON'
	import mmap, time
	end, held = time.time() + 7, []
	for i in range(40): # regions that stay as they are
	    held.append(mmap.mmap(-1, 4096 * (i + 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ if i % 2 else 3))
	while time.time() < end:
	    for i in range(3000): bytes(1000 + i * 37 % 900)
	    time.sleep(0.01)
	time.sleep(1)
PYTHON
start_collector
"$AGENT" run --quiet --announce --listen 127.0.0.1:8133 --interface lo --memory-limit 2M --gather-maps=100ms -- python3 "$T/program.py" 2>"$T/agent.err" &
agent=$!
sleep 3
"$COLLECTOR" gather --data "$T/late" --once --interface lo 127.0.0.1:8133 >"$T/late.out" 2>"$T/late.err" &
late=$!
wait "$agent"
wait_collector
wait "$late"
adds_up --data "$T/late" --json last >"$T/late-ledger.json"
python3 -c 'import json,sys; sys.exit(not json.load(open(sys.argv[1]))["before_join"])' "$T/late-ledger.json" || fail "the late one has missed nothing"
ask maps --json last >"$T/early.json"
"$COLLECTOR" maps --data "$T/late" --json last >"$T/late.json"
python3 - "$T/early.json" "$T/late.json" <<-'PYTHON' || fail "the late collector knows other regions"
	import json, sys
	early, late = (json.load(open(f)) for f in sys.argv[1:])
	drop = lambda m: [{k: v for k, v in r.items() if k not in ("mapped_ns", "changed_ns", "peak_rss")} for r in m["maps"]]
	print(len(early["maps"]), len(late["maps"]), early["steps"], late["steps"])
	sys.exit(early["regions"] < 80 or len(early["maps"]) != early["regions"] or drop(early) != drop(late) or
	         late["steps"] >= early["steps"])
PYTHON
