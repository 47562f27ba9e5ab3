#!/bin/bash
# ctest: LABELS full
# A program that was thinned (policy thin): all ways to ask give the sums that `top` gives of what was allocated, is
# leaked, and was in use at a moment. This holds although blocks that live on are in rows of their own (survivors). The
# ways are SQL, conditions, lists of rows, histograms, leaks, kinds, threads and REST. The totals bear the same error.
. "$(dirname "$0")/lib.sh"
need curl python3

mkdir "$T/data"
R=$T/data/r.heapcast
survivors=0
for seed in $(seq 20); do
	rm -f "$R"
	HEAPCAST_SAMPLE_SEED=$seed "$AGENT" run --quiet --policy thin --output "$R" -- "$BUILD/targets/thinned" 30000 20 "$seed" >"$T/truth"
	survivors=$("$COLLECTOR" sql "$R" "select count(*) from allocations where leaked and survivor" | tail -n 1)
	[ "$survivors" -lt 10 ] || break
done
[ "$survivors" -ge 10 ] || fail "nothing was forced to be thinned: $survivors survivors"
at=$("$COLLECTOR" sql "$R" "select time_ns from marks where value = 7" | tail -n 1)
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18093 "$R" >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18093 "$T/serve.out"

cat >"$T/compare.py" <<'END'
import csv, io, json, subprocess, sys, urllib.parse, urllib.request

collector, recording, at = sys.argv[1:4]
bad = []

def run(*arguments):
    return subprocess.run([collector, *arguments, recording], check=True, stdout=subprocess.PIPE, text=True).stdout

def total(command, *options, key="total"):
    return json.loads(run(command, "--json", *options))[key]

def sql(what, condition):
    return run_sql(f"select sum({what}) as s from allocations where {condition}")["s"] or 0

def run_sql(statement):
    return json.loads(subprocess.run([collector, "sql", "--json", recording, statement], check=True, stdout=subprocess.PIPE, text=True).stdout)["answers"][0][0]

def rest(path, **query):
    url = f"http://127.0.0.1:18093/data/last/{path}?{urllib.parse.urlencode(query)}"
    return json.load(urllib.request.urlopen(url))

def weigh(row):
    return max(int(row["size"]), int(row.get("weight") or 0))

def sums(usage):
    return usage["bytes"], usage["blocks"]

# Errors are sums of floating numbers, added in any order.
def rounded(usage):
    return {k: round(v, 3) for k, v in usage.items()} if isinstance(usage, dict) else usage

def same(what, expected, got):
    expected, got = rounded(expected), rounded(got)
    if expected != got:
        bad.append(f"{what}: {got}, and top says {expected}")

moment = f"birth_ns <= {at} and (death_ns is null or death_ns > {at})"
values = {  # options; conditions of SQL that say the same; filter of REST
    "allocated": ([], ["not survivor"], {}),
    "leaked": ([], ["leaked", "leaked = 1", "end = 'in_use'", "death_ns is null", "chain_leaked", "leaked and survivor in (0, 1)"], {"lifetime": "only_leaked"}),
    "in-use": (["--at", f"{at}ns"], [moment, f"alive_at_ns = {at}"], {"alive_at": f"{at}ns"}),
}
for value, (options, conditions, query) in values.items():
    chosen = ["--value", value, *options]
    top = total("top", "--count", "1", *chosen)
    print(f"{value}: {top['bytes']} +- {top.get('bytes_error', 0):.0f} bytes, {top['blocks']} blocks")
    for condition in conditions:
        same(f"sql, {condition}, bytes", top["bytes"], sql("bytes", condition))
        if abs(sql("blocks", condition) - top["blocks"]) > 1:
            bad.append(f"sql, {condition}: {sql('blocks', condition)} blocks, and top says {top['blocks']}")
    for condition in ("freed_at_once or not freed_at_once", conditions[0]):
        same(f"top --where '{condition}'", top, total("top", "--count", "1", *chosen, "--where", condition))
    same("histogram", top, total("histogram", *chosen))
    rows = [json.loads(line) for line in run("export", "--format", "json", "--with-stacks", *chosen).splitlines()]
    same("export json", top["bytes"], sum(map(weigh, rows)))
    table = [line for line in run("export", "--format", "csv", *chosen).splitlines() if line[0] != "#"]
    same("export csv", top["bytes"], sum(map(weigh, csv.DictReader(table))))
    collapsed = run("export", "--format", "collapsed", *chosen)
    same("export collapsed", top["bytes"], sum(int(line.rsplit(" ", 1)[1]) for line in collapsed.splitlines() if line[0] != "#"))
    kinds = run("analyze", "--memtracer", *chosen)
    same("kinds", f"Recorded {top['blocks']} allocations.", next(l for l in kinds.splitlines() if "Recorded" in l).split(". ", 1)[1])
    page = rest("allocations", count=10**6, **query)
    same("REST allocations", (top["bytes"], len(rows)), (sum(map(weigh, page["allocations"])), page["total_count"]))
    same("REST allocations by size", len(rows), rest("allocations", count=1, sort_by="size", **query)["total_count"])
    code = rest("allocation_filter_to_script", **query)["code"]
    same("script of the filter", top["bytes"], run_sql(f"select sum(bytes) as s from ({code.rstrip(';')})")["s"])
    if value != "allocated":
        profile = run("export", "--format", "gperftools", *chosen)
        allocated = total("top", "--count", "1")
        same("threads", f"heap profile: {top['blocks']}: {top['bytes']} [{allocated['blocks']}: {allocated['bytes']}] @ heapprofile",
             next(l for l in profile.splitlines() if l.startswith("heap profile")))

leaked = total("top", "--count", "1", "--value", "leaked")
same("leaked of the histogram", leaked, total("histogram", key="leaked"))
same("leaks", sums(leaked), sums(total("leaks")))
same("survivors that were freed at once", 0, sql("survivor", "freed_at_once"))
print("\n".join(bad) or "all agree")
sys.exit(bool(bad))
END
python3 "$T/compare.py" "$COLLECTOR" "$R" "$at" >&3 || fail "not all answers agree"
kill "$server"
wait "$server" || true
