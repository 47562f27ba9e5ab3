#!/bin/bash
# machines with --full: arm64 armhf mips64el
# What the agent keeps back, on a board: of samples the estimates are as far off as they say; what is culled, and what the flight recorder had
# forgotten, is in the totals.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
. "$TEST_SOURCE/lib-flight.sh"
RUNS=6

echo "runs=$RUNS" >script
cat >>script <<'END_OF_SCRIPT'
for n in $(seq $runs); do
	HEAPCAST_SAMPLE_SEED=$n ./agent run --quiet --mode sample=16K --output out/sampled-$n -- ./sampled >out/truth-$n || exit 3
done
LD_PRELOAD=/test/libcounting.so COUNTING_OUTPUT=out/counts \
	./agent run --quiet --short-lived 10s --output out/culled -- ./churn 5000 3 5 200 >/dev/null || exit 4
./agent run --quiet --flight 2s --flight-pressure off --output out/flight -- ./e2e-leaker out/leaker 10 1000 100 6 || exit 5
END_OF_SCRIPT
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built tests/libcounting.so)" "$(built targets/sampled)" \
	"$(built targets/churn)" "$(built tests/e2e-leaker)"
mv out/* .
mkdir data
"$COLLECTOR" symbols add --data "$T/data" "$(built targets/sampled)" "$(built tests/e2e-leaker)" >symbols.txt

for ((n = 1; n <= RUNS; n++)); do
	cmp truth-1 truth-$n || fail "the program did something else in run $n"
	"$COLLECTOR" ledger sampled-$n >ledger.txt || fail "sampled-$n does not balance"
	"$COLLECTOR" top --symbols data/symbols sampled-$n --by site --value allocated --count 1000 --json >sampled-$n.json
done
python3 - $RUNS <<'PYTHON' || fail "the estimates"
import json, math, sys
runs = int(sys.argv[1])
truth = {name: [int(n) for n in numbers] for name, *numbers in map(str.split, open("truth-1"))}
z = []
for n in range(1, runs + 1):
    groups = {g["function"]: g for g in json.load(open(f"sampled-{n}.json"))["groups"]}
    for name, (size, blocks, *_) in truth.items():
        for unit, true in ("bytes", size), ("blocks", blocks):
            got = groups.get(name, {}).get("allocated", {})
            if got.get(unit + "_error"):
                z.append((got[unit] - true) / got[unit + "_error"])
mean, most = sum(z) / len(z), max(map(abs, z))
within = sum(abs(x) <= 1 for x in z) / len(z)
print(f"{len(z)} estimates of {len(truth)} sites: off by {mean:.2f} of the stated error on average, by {most:.1f} at most; {100 * within:.0f} % within")
assert len(z) > 50 and abs(mean) < 0.25 and most < 4 and within > 0.85
PYTHON

RECORDING=$T/culled
check_ledger
check_counts /test/churn
ask report "$RECORDING" --json | python3 -c '
import json, sys
culled = json.load(sys.stdin)["culled"]["blocks"]
assert culled > 5000, culled'

flight_truth "$T/flight" leaker 2 --symbols "$T/data/symbols"
