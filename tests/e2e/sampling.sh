#!/bin/bash
# Estimates from samples, compared site by site with a program whose heap is known. There are 30 recordings (300 with
# HEAPCAST_TEST_FULL=1), each with a seed of its own. The estimates are without bias, and within the stated error as
# often as stated. The 30 seeds are always the same, because one time in a hundred chance alone would look like a bias.
# The 300 are new ones each time.
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
need python3
runs=30
[ -z "$full" ] || runs=300

report_of() {
	"$COLLECTOR" top "$1" --by site --value allocated --count 1000 --json
}

# Recorded in full, the program's numbers are what it says: it is a truth to hold something against.
"$AGENT" run --quiet --output "$T/full.heapcast" -- "$BUILD/targets/sampled" >"$T/truth.txt"
report_of "$T/full.heapcast" >"$T/full.json"
mkdir "$T/runs"
for run in $(seq $runs); do
	[ -n "$full" ] || export HEAPCAST_SAMPLE_SEED=$run
	"$AGENT" run --quiet --mode sample=32K --output "$T/r.heapcast" -- "$BUILD/targets/sampled" >"$T/said.txt"
	cmp -s "$T/truth.txt" "$T/said.txt" || fail "the program did something else in run $run"
	report_of "$T/r.heapcast" >"$T/runs/$run.json"
	[ $((run % 10)) != 1 ] || "$COLLECTOR" ledger "$T/r.heapcast" >"$T/ledger.txt" ||
		{ cat "$T/ledger.txt" >&3; fail "the ledger does not balance"; }
	rm "$T/r.heapcast"
done

python3 - "$T" "$runs" <<'END' >&3
import json, sys
from math import sqrt

folder, runs = sys.argv[1], int(sys.argv[2])
values = [("allocated", "bytes"), ("allocated", "blocks"), ("leaked", "bytes"), ("leaked", "blocks")]
truth = {}
for line in open(folder + "/truth.txt"):
    name, *numbers = line.split()
    truth[name] = dict(zip(values, map(int, numbers)))

def sites(path):
    return {g["function"]: g for g in json.load(open(path))["groups"]}

full = sites(folder + "/full.json")
for name in truth:
    for what, unit in values:
        assert full[name][what][unit] == truth[name][what, unit], ("in full", name, what, unit)
        assert "bytes_error" not in full[name][what], "an error where nothing was sampled"

estimates = [sites("%s/runs/%d.json" % (folder, i + 1)) for i in range(runs)]
nothing = {"bytes": 0, "blocks": 0}
far, furthest, stated, covered, exact, z = 0, 0, 0, 0, 0, []
print("%-18s %-17s %10s %10s %8s %6s %9s" % ("site", "value", "truth", "mean", "of truth", "t", "covered"))
for name in truth:
    for what, unit in values:
        true = truth[name][what, unit]
        got = [e.get(name, {}).get(what, nothing) for e in estimates]
        mean = sum(g[unit] for g in got) / runs
        deviation = sqrt(sum((g[unit] - mean) ** 2 for g in got) / (runs - 1) / runs)
        with_error = [g for g in got if g.get(unit + "_error", 0) > 0]
        within = sum(abs(g[unit] - true) <= g[unit + "_error"] for g in with_error)
        if deviation == 0:
            assert mean == true, ("exact, but wrong", name, what, unit, mean, true)
            exact += 1
            continue
        # Blocks are shown as whole numbers.
        off = mean - true if unit == "bytes" else max(abs(mean - true) - 0.5, 0) * (1 if mean > true else -1)
        t = off / deviation
        z.append(t)
        far += abs(t) > 3
        furthest = max(furthest, abs(t))
        stated += len(with_error)
        covered += within
        print("%-18s %-17s %10d %10d %7.1f%% %6.2f %5d/%-3d" % (name, what + " " + unit, true, mean,
              100 * mean / true, t, within, len(with_error)))
share = covered / stated
print("%d sites and values, %d runs: %d off by more than 3 standard errors, the furthest by %.1f; the 95 %% interval covers "
      "the truth in %.1f %% of %d; %d exact" % (len(z), runs, far, furthest, 100 * share, stated, exact))
assert exact >= 4, "blocks above the cut are exact"
assert stated > 20 * runs
# One in 200 is so far off by chance; what is skewed, more often.
assert far <= 3 and furthest < 7, "biased"
assert abs(sum(z) / len(z)) < 1.5, "biased as a whole"
assert 0.90 <= share <= 0.99, "the interval is too %s" % ("wide" if share > 0.99 else "narrow")
END
