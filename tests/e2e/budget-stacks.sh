#!/bin/bash
# ctest: LABELS full
# More distinct stacks than a 2 MiB agent has room for. Its table starts over, as often as need be. Where threads hold
# too much of it for that, stacks keep their outer frames, are marked, and counted. No stack is wrong, and none is cut
# in silence.
. "$(dirname "$0")/lib.sh"

# COUNT THREADS LEVELS [SIZE]: looks at all blocks, or at those of at most SIZE bytes (of 4096)
hold() {
	"$AGENT" run --memory-limit 2M --output "$T/rec" -- "$BUILD/tests/e2e-bushy" "$1" "$2" "$3" 2>"$T/run.err"
	assert_status 0 adds_up --json "$T/rec" >"$T/ledger.json"
	"$COLLECTOR" export --format json --with-stacks --size-max "${4:-4096}" "$T/rec" |
		python3 "$T/check.py" "$T/ledger.json" "$1" "$2" "$3" "${4:-4096}" >&3 || fail "stacks of $* are wrong"
}

# A block's size says which turns its outer 12 levels took. All the frames down to where a stack was cut must say the same.
cat >"$T/check.py" <<'END'
import json, sys
ledger = json.load(open(sys.argv[1]))
count, threads, levels, largest = map(int, sys.argv[2:6])
TOLD = 12
rows = cut = limited = short = 0
stacks = set()
for line in sys.stdin:
    row = json.loads(line)
    if row["kind"] != "malloc":
        continue
    names = [frame["name"] for frame in reversed(row["backtrace"])]
    turns = [name == "right" for name in names if name in ("left", "right")]
    rows += 1
    cut += any("full" in name for name in names)
    limited += any("limit" in name for name in names)
    told = [bool(row["size"] - 1 >> TOLD - 1 - i & 1) for i in range(min(TOLD, levels))]
    seen = turns[:TOLD]
    short += len(turns) < levels
    if seen != told[:len(seen)] or "work" not in names:
        sys.exit(print(f"size {row['size']}, but the stack is", names[:60]) or 1)
    if len(turns) < levels and not any("full" in name or "limit" in name for name in names):
        sys.exit(print("a stack was cut and nothing says so:", names) or 1)
    stacks.add(tuple(turns))
lost = ledger["lost_allocations"]
print(f"{threads} threads, {levels} levels: {rows} blocks of {len(stacks)} stacks, {limited} at the depth limit, {cut} cut ({ledger['stacks_cut']} counted, frees too), {lost} lost")
sys.exit((largest == 4096 and rows + lost < count * threads) or rows < 50 or cut > ledger["stacks_cut"] or (not cut) != (not ledger["stacks_cut"]))
END
hold 3000 1 40
hold 60 30 40
hold 150 1 200
hold 500 36 200 200
