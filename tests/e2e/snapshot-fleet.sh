#!/bin/bash
# A snapshot of 300 played agents, which answer at once. Several threads read what they have. Each is in it with the blocks that it holds,
# also while the agents go on, and the catalogue knows of the snapshot what whoever reads its recording finds.
. "$(dirname "$0")/lib.sh"
need python3
[ -x "$BUILD/tests/bench-player" ] || skip "bench-player was not built"
agents=300
blocks=1000

"$AGENT" run --quiet --output "$T/sites.heapcast" -- "$BUILD/tests/bench-sites" $blocks 200 6
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen 127.0.0.1:0 >"$T/gather.out" 2>"$T/gather.err" &
gathering=$!
wait_for 10 "the collector" grep -q "for agents that dial in" "$T/gather.out"
port=$(sed -n 's/.*TCP 127.0.0.1:\([0-9]*\) for agents.*/\1/p' "$T/gather.out")
# A recording of 7 s takes 140.
"$BUILD/tests/bench-player" "$T/sites.heapcast" --agents $agents --dial "127.0.0.1:$port" --speed 0.05 --stay >"$T/player.out" 2>"$T/player.err" &
player=$!
built_up() {
	"$COLLECTOR" list --data "$T/data" --json >"$T/list.json" &&
		python3 -c 'import json, sys
streams = json.load(open(sys.argv[1]))["streams"]
sys.exit(len(streams) != int(sys.argv[2]) or min(s["events"] for s in streams) <= int(sys.argv[3]))' "$T/list.json" $agents $blocks
}
wait_for 60 "all agents to hold their blocks" built_up
"$COLLECTOR" snapshot take all --data "$T/data" --json >"$T/all.json" || fail "a snapshot of all: $(cat "$T/all.json")"
kill $player
wait $player || true
"$COLLECTOR" list --data "$T/data" --json >"$T/list.json"
kill -INT $gathering
wait $gathering || fail "the collector ended with $?"

# Without the catalogue a list reads the recordings.
mkdir -p "$T/copy/streams"
cp "$T/data/snapshots.sqlite" "$T/copy"
snapshot=$(python3 -c 'import json, sys; print(next(s["id"] for s in json.load(open(sys.argv[1]))["streams"] if s["state"] == "snapshot"))' "$T/list.json")
cp -r "$T/data/streams/$snapshot" "$T/copy/streams"
"$COLLECTOR" list --data "$T/copy" --json >"$T/read.json"
python3 - "$T" "$COLLECTOR" $agents $blocks <<'PYTHON' || fail "the snapshot is not as it should be"
import json, sqlite3, subprocess, sys
T, collector, agents, blocks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
a = json.load(open(T + "/all.json"))
assert len(a["processes"]) == agents and not a["missing"], (len(a["processes"]), a["missing"])
assert {p["host"] for p in a["processes"]} == {f"board-{n}" for n in range(agents)}
# The program frees a block before it allocates the next one, and has its table of blocks besides.
held = {p["in_use"]["blocks"] for p in a["processes"]}
assert held <= {blocks, blocks + 1}, held
for key in "blocks", "bytes":
    assert a["in_use"][key] == sum(p["in_use"][key] for p in a["processes"]), key
for p in a["processes"][::60]:
    alone = json.loads(subprocess.run([collector, "top", "--data", T + "/data", "--json", "--at", f"{p['time_ns'] / 1e9:.9f}s", p["stream"]],
                                      check=True, capture_output=True).stdout)
    assert alone["total"] == p["in_use"], (p, alone["total"])
told, read = (next(s for s in json.load(open(f"{T}/{name}.json"))["streams"] if s["state"] == "snapshot") for name in ("list", "read"))
assert told == read, (told, read)
rows = sqlite3.connect(T + "/data/catalogue.sqlite").execute("SELECT in_use_blocks FROM streams WHERE name = 'snapshot:all'").fetchall()
assert rows == [(a["in_use"]["blocks"],)], rows
print(f"{a['in_use']['blocks']} blocks of {agents} agents")
PYTHON
