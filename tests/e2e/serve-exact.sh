#!/bin/bash
# Nine programs one after another through `agent serve` as it comes, on this machine and beside two programs that take
# all of its processors. What is recorded is what an independent witness has counted in the same process. If the agent
# did not keep up, the recording is marked as sampled and says its error. A loss that falsifies is neither.
. "$(dirname "$0")/lib-serve.sh"
need python3
churn=$TARGETS/churn

cat >"$T/work.lua" <<'END'
local t = {}
for i = 1, 60000 do t[i % 1000] = { i, tostring(i) } end
END
cat >"$T/work.sql" <<'END'
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) insert into t select x, hex(randomblob(20)) from c;
create index i on t(b);
select count(*) from t;
END
seq 1 60000 >"$T/numbers.txt"

cat >"$T/check.py" <<'END'
import json, subprocess, sys
collector, show, recording, counts = sys.argv[1:]
def ask(command):
    done = subprocess.run([collector, command, "--json", recording], stdout=subprocess.PIPE)
    return json.loads(done.stdout)
ledger, report = ask("ledger"), ask("report")
truth = {name: int(value) for name, value in (line.split()[:2] for line in
         subprocess.run([show, counts], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()) if value.isdigit()}
waited = sum(s["value"] for s in ledger["states"] if s["state"] == "waited") / 1e6
thinned = sum(s["state"] == "thinned" for s in ledger["states"])
name = report["process"]["executable"].rsplit("/", 1)[-1]
print(f"{name}: {ledger['produced']} events, {ledger['lost']} lost, {ledger['not_sampled']} passed over; waited {waited:.1f} ms; {thinned} steps")
checks = {
    "what is passed over is marked": bool(ledger["not_sampled"]) <= bool(thinned),
    "it is marked as sampled": bool(ledger["not_sampled"]) <= report["process"]["sampled"],
}
if not ledger["not_sampled"]:
    checks["nothing is lost"] = not ledger["lost"]
    for field, value in (("allocations", report["allocations"]), ("bytes", report["allocated"]["bytes"]), ("frees", report["frees"]),
                         ("reallocated", report["reallocations"])):
        checks[f"{field}: {value} is {truth[field]}"] = value == truth[field]
elif not sum(g["allocations"] for g in ledger["gaps"]): # else what they stood for is missing, too
    # Four standard errors, and weights are whole bytes.
    left = truth["bytes"] - sum(g["bytes"] for g in ledger["gaps"])
    off, error = abs(report["allocated"]["bytes"] - left), report["allocated"].get("bytes_error", 0) # only frees were thinned: exact
    checks[f"the estimate of {report['allocated']['bytes']} +- {error:.0f} is near {left}"] = off <= 2 * error + left * 0.001
bad = [what for what, holds in checks.items() if not holds]
if bad:
    print("not so:", "; ".join(bad))
sys.exit(bool(bad))
END

one() {
	local status=0 recording counts
	command -v "$1" >/dev/null || { echo "$1 is not installed: left out"; return; }
	rm -f "$T"/counts.* "$T"/r-*
	HEAPCAST_SOCKET=$T/socket LD_PRELOAD="$PRELOAD $COUNTING" COUNTING_OUTPUT=$T/counts "$@" >/dev/null || status=$?
	assert_eq "exit status of $1" 0 "$status"
	wait_for 20 "the end of $1" eval "[ \"\$(grep -c ' ended: ' '$T/d.err')\" = $((++programs)) ]"
	recording=$(ls "$T"/r-*)
	counts=$T/counts.${recording##*-}
	python3 "$T/check.py" "$COLLECTOR" "$BUILD/tests/counting-show" "$recording" "$counts" >&3 || fail "the recording of $1 is not what the program did"
}

all() {
	programs=0
	serve d --config "" --socket "$T/socket" --output "$T/r-%p"
	one sqlite3 :memory: ".read $T/work.sql"
	one lua5.4 "$T/work.lua"
	one "$churn" 20000
	one sort -S 4M "$T/numbers.txt"
	one "$churn" 200000
	one perl -e 'my %h; $h{$_} = "x" x ($_ % 100) for 1 .. 30000; print scalar(keys %h)'
	one "$churn" 20000 8
	one ls -laR /usr/include
	one python3 -S -E -c 'x = [str(i) * 20 for i in range(50000)]'
	stop_serve d
	rm -f "$T/d.err"
}

all
echo "--- beside two that are busy"
spinners=()
for _ in 1 2; do
	nice -n 19 bash -c 'while :; do :; done' &
	spinners+=($!)
done
all
kill "${spinners[@]}"
