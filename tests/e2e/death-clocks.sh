#!/bin/bash
# The wall clock is set back and forth while the agent records, and the machine has slept. Order and durations stay
# right, and the sleep is marked. A preloaded library (programs/clocks.c) makes the clocks step for agent and program
# alone.
. "$(dirname "$0")/lib.sh"
need lz4 protoc
LD_PRELOAD=$BUILD/tests/libclocks.so "$AGENT" run --quiet --output "$T/rec" -- \
	"$BUILD/tests/e2e-steady" 100 20 >"$T/truth.txt"

# The wall clock did step, in the batches.
lz4 -dc "$T/rec" >"$T/whole.bin"
protoc --decode=heapcast.Recording --proto_path="$ROOT/proto" heapcast.proto <"$T/whole.bin" >"$T/whole.txt"
awk '/^  wall_ns:/ { print $2 }' "$T/whole.txt" >"$T/wall"
sort -nc "$T/wall" 2>/dev/null && fail "the wall clock did not step: $(tr '\n' ' ' <"$T/wall")"
awk '/^  time_ns:/ { print $2 }' "$T/whole.txt" >"$T/time"
sort -nc "$T/time" || fail "the batches' times go back"
awk '/^  watermark_ns:/ { print $2 }' "$T/whole.txt" | sort -nc || fail "the watermark goes back"

# Each block's birth is when the program made it, but for one difference between the two clocks: within 5 ms at the median,
# 50 ms at worst (the program may be taken off the processor between allocating and looking at its clock: at any block, so
# the difference is the median).
"$COLLECTOR" export --format json --with-stacks "$T/rec" >"$T/rows.json"
python3 - "$T/rows.json" "$T/truth.txt" <<'END' >&3 || fail "the recorded times are wrong"
import json, sys
truth = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
rows = [json.loads(line) for line in open(sys.argv[1])]
births = {}
for row in rows:
    births.setdefault(row["size"], []).append(row["time_ns"])
offsets = sorted(births[size][0] - ns for size, ns in truth if len(births[size]) == 1)
base = offsets[len(offsets) // 2]
error = []
for size, ns in truth:
    near = min(births[size], key=lambda birth: abs(birth - base - ns))
    error.append(abs(near - base - ns))
error.sort()
print(f"births: {len(truth)}, error {error[len(error) // 2] / 1e3:.1f} us at the median, {error[-1] / 1e3:.1f} us at most")
sys.exit(error[len(error) // 2] > 5e6 or error[-1] > 5e7)
END

adds_up --json "$T/rec" >"$T/ledger.json"
python3 - "$T/ledger.json" <<'END' || fail "the sleep is not marked once, with its length: $(cat "$T/ledger.json")"
import json, sys
sleeps = [s["value"] for s in json.load(open(sys.argv[1]))["states"] if s["state"] == "suspended"]
sys.exit(len(sleeps) != 1 or not 89.9e9 < sleeps[0] < 90.1e9)
END
adds_up "$T/rec" >"$T/ledger.txt"
assert_contains "collector ledger" "$T/ledger.txt" "the machine slept for 90.00 s"
