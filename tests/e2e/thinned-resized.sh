#!/bin/bash
# Threads that reallocate and nothing else, with blocks below and above 4 KiB, while the agent does not keep up (policy
# thin). However thinly the program is sampled, frees of large blocks do not fill its slices, so nothing is lost. If
# nobody has seen any of what is left, the interval says how much that may be.
. "$(dirname "$0")/lib.sh"
need python3
runs=10

for run in $(seq $runs); do
	HEAPCAST_SAMPLE_SEED=$run "$AGENT" run --quiet --policy thin --output "$T/r.heapcast" -- "$BUILD/tests/e2e-resized" 4 60000 "$run" >"$T/truth.$run"
	for value in allocated leaked; do
		"$COLLECTOR" top "$T/r.heapcast" --count 1 --json --value $value >"$T/$value.$run"
	done
	"$COLLECTOR" ledger --json "$T/r.heapcast" >"$T/ledger.$run" || fail "run $run: the ledger does not balance: $(cat "$T/ledger.$run")"
	rm "$T/r.heapcast"
done

python3 - "$T" "$runs" <<'END' >&3 || fail "the estimates are not what they say"
import json, sys
folder, runs = sys.argv[1], int(sys.argv[2])
def load(name, run):
    return json.load(open(f"{folder}/{name}.{run}"))
ledgers = [load("ledger", run) for run in range(1, runs + 1)]
thinned = sum(any(s["state"] == "thinned" for s in l["states"]) for l in ledgers)
lost = sum(l["lost"] for l in ledgers)
print(f"{thinned} of {runs} programs were thinned; {lost} events lost")
bad = lost or thinned < runs
for what in ("allocated", "leaked"):
    for unit in ("bytes", "blocks"):
        held = 0
        for run in range(1, runs + 1):
            truth = {l.split()[0]: l.split()[1:] for l in open(f"{folder}/truth.{run}")}
            got = load(what, run)["total"]
            # The program's own library allocates some, too.
            held += abs(got[unit] - int(truth[what][unit == "blocks"])) <= got.get(unit + "_error", 0) + (10000 if unit == "bytes" else 20)
        print(f"{what} {unit}: the interval holds the truth in {held} of {runs}")
        # Blocks of a few bytes stand for many when they are seen, which is seldom: of their number the error is known worse.
        bad |= held < runs - (3 if unit == "bytes" else 5)
sys.exit(bool(bad))
END
