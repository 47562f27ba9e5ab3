#!/bin/bash
# Blocks that were recorded exactly, and most of whose frees come when the agent does not keep up: the program is
# thinned (policy thin), because it stops the agent for moments. Then what was allocated, what is in use in the middle,
# and what is left at the end are estimates. They are compared with the truth over 8 recordings (30 of 200,000 blocks
# with HEAPCAST_TEST_FULL=1): without bias, and within the stated error.
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
need python3
runs=8 blocks=100000
[ -z "$full" ] || runs=30 blocks=200000

# VALUE [--at TIME]
total_of() {
	"$COLLECTOR" top "$T/r.heapcast" --count 1 --json --value "$@"
}

for run in $(seq $runs); do
	mkdir "$T/$run"
	HEAPCAST_SAMPLE_SEED=$run "$AGENT" run --quiet --policy thin --output "$T/r.heapcast" -- \
		"$BUILD/targets/thinned" "$blocks" 20 "$run" >"$T/$run/truth"
	at=$("$COLLECTOR" sql "$T/r.heapcast" "select time_ns from marks where value = 7" | tail -n 1)
	[ "$at" -gt 0 ] || fail "the program's mark is not in recording $run"
	total_of allocated >"$T/$run/allocated"
	total_of leaked >"$T/$run/leaked"
	total_of temporary >"$T/$run/freed"
	total_of in-use --at "${at}ns" >"$T/$run/in_use"
	"$COLLECTOR" ledger --json "$T/r.heapcast" >"$T/$run/ledger" || fail "the ledger of run $run does not balance"
	rm "$T/r.heapcast"
done

python3 - "$T" "$runs" <<'END' >&3
import json, sys
from math import sqrt

folder, runs = sys.argv[1], int(sys.argv[2])
bad = []
holds = []
lost = thinned = 0
for run in range(1, runs + 1):
    ledger = json.load(open(f"{folder}/{run}/ledger"))
    lost += ledger["lost"]
    thinned += any(s["state"] == "thinned" for s in ledger["states"])
print(f"{thinned} of {runs} programs were thinned; {lost} events lost in all")
if thinned < runs:
    bad.append("nothing was forced to be thinned")
if lost:
    bad.append("events were lost that stood for others")
for what in ("allocated", "in_use", "leaked", "freed"):
    for unit in ("bytes", "blocks"):
        shares, held, errors = [], 0, []
        for run in range(1, runs + 1):
            true = {line.split()[0]: line.split()[1:] for line in open(f"{folder}/{run}/truth")}
            true["freed"] = [int(a) - int(b) for a, b in zip(true["allocated"], true["leaked"])]
            true = int(true[what][unit == "blocks"])
            got = json.load(open(f"{folder}/{run}/{what}"))["total"]
            shares.append(got[unit] / true)
            errors.append(got.get(unit + "_error", 0) / true)
            held += abs(got[unit] - true) <= got.get(unit + "_error", 0)
        mean = sum(shares) / runs
        deviation = sqrt(sum((s - mean) ** 2 for s in shares) / (runs - 1))
        print(f"{what:10} {unit:7} mean {100 * mean:6.2f} % of truth, deviation of one {100 * deviation:5.2f} %, "
              f"stated {100 * sum(errors) / runs:5.2f} %; the interval holds it in {held} of {runs}")
        # 2 %, or where fewer and smaller runs do not tell that much, what chance does to them one time in 1,000 (Student's t).
        if abs(mean - 1) > max(0.02 if runs >= 30 else 0, (3.7 if runs >= 30 else 5.4) * deviation / sqrt(runs)):
            bad.append(f"{what} {unit}: biased")
        holds.append(held)
        # Of an interval of 95 % fewer than these are one case in 1,000.
        if held < (24 if runs >= 30 else runs - 3):
            bad.append(f"{what} {unit}: the interval is too narrow")
share = sum(holds) / len(holds) / runs
print(f"the intervals hold the truth in {100 * share:.1f} % of the cases")
if runs >= 30 and share < 0.9:
    bad.append("the intervals are too narrow")
if bad:
    print("not so:", "; ".join(bad))
sys.exit(bool(bad))
END
