#!/bin/bash
# A ring that is almost full, under each policy: what the program was made to do shows in the data, with its time. `block`:
# nothing is lost, and the waits are marked. `count`: gaps, each of which says from when to when its thread was only
# counting; no event of it lies inside. `thin`: each step of the thinning is marked.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
need taskset
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

# POLICY MS [ARG...]: three threads at full speed beside an agent with little memory, on one processor.
hold() {
	local policy=$1 ms=$2
	shift 2
	taskset -c "$cpu" "$AGENT" run --quiet --memory-limit 2M --policy "$policy" "$@" --output "$T/rec" -- \
		"$WITNESS" "$T/truth" 3 _exit "$ms" || [ $? = 8 ]
	adds_up --json "$T/rec" >"$T/ledger.json" || fail "the ledger does not balance"
	adds_up "$T/rec" >"$T/ledger.txt"
	"$COLLECTOR" export --format json --with-stacks --size-max 24 "$T/rec" >"$T/rows.json"
	python3 "$T/check.py" "$policy" "$T/ledger.json" "$T/rows.json" >&3 || fail "policy $policy: the data do not show what happened"
}

cat >"$T/check.py" <<'END'
import bisect, json, sys
policy, ledger = sys.argv[1], json.load(open(sys.argv[2]))
tid = {t["number"]: t["tid"] for t in ledger["threads"]}
gaps = [g for g in ledger["gaps"] if g["reason"] == "ring full"]
states = {}
for s in ledger["states"]:
    states.setdefault(s["state"], []).append(s)
births = {}
for line in open(sys.argv[3]):
    row = json.loads(line)
    births.setdefault(row["thread"], []).append(row["time_ns"])
for times in births.values():
    times.sort()
TICK = 1000
inside = 0
for g in gaps:
    times = births.get(tid.get(g["thread"]), [])
    first = bisect.bisect_left(times, g["from_ns"] + TICK)
    inside += first < len(times) and times[first] + TICK < g["to_ns"]
longest = max((g["to_ns"] - g["from_ns"] for g in gaps), default=0)
end = ledger["end"]
waited = sum(s["value"] for s in states.get("waited", [])) / 1e6
thinned = [s["value"] for s in states.get("thinned", [])]
print(f"{policy}: {ledger['stored']} events stored, {ledger['lost']} lost in {len(gaps)} gaps, the longest of {longest / 1e6:.1f} ms; "
      f"waited {waited:.1f} ms; {len(thinned)} steps of thinning, at most to {max(thinned, default=0)}")
checks = {
    "the gaps say when": all(0 < g["from_ns"] < g["to_ns"] for g in gaps),
    "no event lies in a gap": not inside,
    "the states have times": all(0 < s["time_ns"] for s in ledger["states"]),
    "the threads are known": all(s["thread"] in tid for s in states.get("waited", []) + states.get("thinned", [])),
}
if policy == "block":
    checks["nothing is lost"] = not gaps
    checks["the waits are marked"] = waited > 1
if policy == "count":
    checks["gaps have what is lost"] = gaps and sum(g["events"] for g in ledger["gaps"]) == ledger["lost"]
    checks["nobody waits"] = not waited
if policy == "thin":
    checks["the thinning is marked"] = len(thinned) > 3 and max(thinned) >= 8192
    checks["and what it passes over is counted"] = ledger["not_sampled"] > 0
bad = [name for name, holds in checks.items() if not holds]
if bad:
    print("not so:", ", ".join(bad))
sys.exit(bool(bad))
END

hold block 300
hold count 300
hold thin 600
assert_contains "collector ledger" "$T/ledger.txt" "for lack of room in the ring"
