#!/bin/bash
# The commands' answers and those of the REST API, on a recording of a real program: the number in a terminal is the
# number in the browser. Gates end with the status that a script relies on.
. "$(dirname "$0")/lib.sh"
need curl python3 sqlite3
start_collector
printf 'create table t(a, b);\nwith recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)\ninsert into t select x, x || "" from c;\nselect count(*) from t;\n' >"$T/work.sql"
record sqlite3 :memory: ".read $T/work.sql" >/dev/null
wait_collector

"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18082 >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18082 "$T/serve.out"
get() {
	curl --silent --show-error --fail-with-body "http://127.0.0.1:18082$1"
}

# The lines of the old README.
get "/data/last/allocation_ascii_tree?lifetime=only_leaked" >"$T/leaked.tree"
get "/data/last/allocation_groups?group_allocations_min=10&group_leaked_allocations_min=50%25&sort_by=all.size&count=3" >"$T/some.json"

for path in report "timeline?points=40" "timeline_leaked?points=40" histogram peak "snapshot?at=50%25" "leaks?suppress=none" "allocation_groups?sort_by=only_matched.size" \
	tree backtraces "diff?base=last@25%25&at=75%25&by=backtrace"; do
	get "/data/last/$path" >"$T/${path%%\?*}.json"
done
get /openapi.json >"$T/openapi.json"
ask report last --json >"$T/cli-report.json"
ask timeline last --json --count 40 >"$T/cli-timeline.json"
ask histogram last --json >"$T/cli-histogram.json"
ask top last --json --at 50% --count 100000 >"$T/cli-snapshot.json"
ask top last --json --value peak --count 100000 >"$T/cli-peak.json"
ask leaks last --json --suppress none --count 100000 >"$T/cli-leaks.json"
ask tree last --json >"$T/cli-tree.json"
ask diff --base last@25% last@75% --by backtrace --count 100000 --json >"$T/cli-diff.json"
ask temporary last --json --count 100000 >"$T/cli-temporary.json"

python3 - "$T" <<'PYTHON'
import json, sys
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
def same(name, *keys):
    rest, cli = load(name), load("cli-" + name)
    for key in keys or [k for k in rest]:
        assert rest[key] == cli[key], (name, key, rest[key], cli[key])
    return rest
report = same("report")
timeline = same("timeline")
same("histogram")
leaks = same("leaks", "total", "old", "young", "suspect_bytes", "group_count")
same("diff")
snapshot, peak = same("snapshot", "total", "group_count"), same("peak", "total", "group_count")
for name in ("snapshot", "peak"):
    assert [g["value"] for g in load(name)["groups"]] == [g["value"] for g in load("cli-" + name)["groups"]], name
assert peak["total"] == report["peak"] and peak["at_ns"] == report["peak_ns"]
assert max(timeline["allocated_size"]) == report["peak"]["bytes"]
assert timeline["allocated_size_last"][-1] == report["leaked"]["bytes"]
assert sum(timeline["allocations"]) == report["allocated"]["blocks"]
assert load("timeline_leaked")["allocated_size"][-1] == report["leaked"]["bytes"]
for key in ("xs", "size_delta", "count_delta", "allocated_size", "allocated_count", "allocations", "deallocations"):
    assert len(timeline[key]) == len(timeline["xs"]) and 1 <= len(timeline[key]) <= 40, key
assert leaks["total"]["bytes"] == report["leaked"]["bytes"]

tree = load("tree")
def walk(node):
    below = sum(walk(child) for child in node["children"])
    assert below <= node["size"], node.get("value")
    for field in ("size", "count", "first", "last"):
        assert field in node, field
    return node["size"]
sys.setrecursionlimit(10000)
assert walk(tree) == report["allocated"]["bytes"] == load("cli-tree")["bytes"]

groups = load("allocation_groups")
sizes = [g["only_matched"]["size"] for g in groups["allocations"]]
assert sizes == sorted(sizes, reverse=True) and sum(sizes) == report["allocated"]["bytes"]
assert groups["total_count"] == len(groups["allocations"]) == len(load("backtraces")["backtraces"])
for g in groups["allocations"]:
    for field in ("size", "min_size", "max_size", "min_timestamp", "min_timestamp_relative", "min_timestamp_relative_p",
                  "max_timestamp", "interval", "leaked_count", "allocated_count"):
        assert field in g["all"] and field in g["only_matched"], field
    assert "max_total_usage_first_seen_at_relative_p" in g["all"] and g["backtrace"] is not None
for g in load("some")["allocations"]:
    assert g["all"]["allocated_count"] >= 10 and 2 * g["all"]["leaked_count"] >= g["all"]["allocated_count"]

temporary = load("cli-temporary")
assert 0 < temporary["total"]["blocks"] < report["temporary"]["blocks"], temporary["total"]
paths = load("openapi")["paths"]
assert "/data/{id}/allocation_groups" in paths
names = {p["name"] for p in paths["/data/{id}/allocation_groups"]["get"]["parameters"]}
assert {"id", "skip", "count", "sort_by", "order", "size_min", "group_leaked_allocations_min"} <= names, names
PYTHON
assert_contains "the tree of what leaked" "$T/leaked.tree" sqlite3

# What is wrong is named, with what it takes.
refused() {
	assert_eq "status of $1" 400 "$(curl -s -o "$T/400.json" -w '%{http_code}' "http://127.0.0.1:18082/data/last/$1")"
	assert_contains "the answer to $1" "$T/400.json" "\"parameter\":\"$2\"" "$3"
}
refused "allocation_groups?sort_by=colour" sort_by "only_matched."
refused "timeline?points=0" points "1 to"
refused "diff" base "@TIME"
refused "diff?base=last@soon" base "takes a time"
refused "leaks?young=soon" young duration
refused "report?freed_at_once=maybe" freed_at_once yes
refused "peak?module=nothing.so" module "none"
refused "snapshot?group_leaked_allocations_min=half" group_leaked_allocations_min "50%"
kill -TERM "$server"
wait "$server" || fail "serve ended with $?"

# Tables fit 80 columns and hold nothing but text when they are piped.
for line in "timeline last" "tree last" "histogram last" "leaks last" "temporary last" "diff --base last@25% last@75%"; do
	# shellcheck disable=SC2086
	COLUMNS=80 ask $line >"$T/table.txt"
	[ -s "$T/table.txt" ] || fail "$line shows nothing"
	awk -v line="$line" 'NR > 3 && length($0) > 80 { print line ": " $0; exit 1 }' "$T/table.txt" || fail "wider than 80 columns"
	! grep -q $'\033' "$T/table.txt" || fail "$line: colours in a pipe"
done

# Gates.
assert_status 0 ask report last --fail-if 'allocated_bytes > 1T' >"$T/out.txt"
assert_status 1 ask report last --fail-if 'allocated_blocks > 10 and peak_bytes > 1K' >"$T/out.txt" 2>"$T/gate.txt"
assert_contains "the gate" "$T/gate.txt" "it is true that"
assert_status 1 ask leaks last --suppress none --fail-if 'leaked_blocks > 0' >"$T/out.txt" 2>/dev/null
# Former names go on working: of options, of their variables, of values.
ask leaks last --json --recent 1h >"$T/recent.json"
ask leaks last --json --young 1h >"$T/young.json"
HEAPCAST_YOUNG=1h ask leaks last --json >"$T/young-variable.json"
HEAPCAST_YOUNG=1ns ask leaks last --json --recent 1h >"$T/young-both.json"
ask report last --json --temporary yes >"$T/temporary.json"
ask report last --json --freed-at-once yes >"$T/at-once.json"
ask top last --json --value freed >"$T/freed.json"
ask top last --json --value temporary >"$T/freed-before.json"
for pair in young:recent young-variable:recent young-both:recent at-once:temporary freed-before:freed; do
	cmp "$T/${pair%:*}.json" "$T/${pair#*:}.json" || fail "${pair%:*} is not ${pair#*:}"
done
assert_status 1 ask top last --fail-if 'value_bytes >= 1' >"$T/out.txt" 2>/dev/null
assert_status 0 ask diff --base last last --fail-if 'delta_bytes != 0 or added_bytes > 0' >"$T/out.txt"
assert_status 2 ask report last --fail-if 'leaked_bites > 1' 2>"$T/gate.txt"
assert_contains "what is wrong with the gate" "$T/gate.txt" "character 1 of" 'did you mean "leaked_bytes"' allocated_blocks
assert_status 2 ask diff --base last last --fail-if 'delta_bytes > 1 && delta_bites > 1' 2>"$T/gate.txt"
assert_contains "what is wrong with the gate of diff" "$T/gate.txt" "character 20 of" 'did you mean "delta_bytes"' removed_blocks
assert_status 1 ask report last --fail-if 'peak_bytes / allocated_bytes between 0.000001 and 1' >"$T/out.txt" 2>/dev/null

# Rules: a function that is named there is no call site any more.
ask top last --json --count 1 >"$T/top.json"
site=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["groups"][0]["function"])' "$T/top.json")
printf '# wrappers of this program\n%s\n' "$site" >"$T/rules"
ask top last --json --count 100000 --hide-rules "$T/rules" >"$T/top.json"
python3 - "$T/top.json" "$site" <<'PYTHON'
import json, sys
top = json.load(open(sys.argv[1]))
assert not any(g["function"] == sys.argv[2] for g in top["groups"]), sys.argv[2]
PYTHON
