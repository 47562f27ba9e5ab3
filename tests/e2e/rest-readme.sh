#!/bin/bash
# The README of the profiler whose users come over. Each of its curl lines, as it stands there, does what its caption
# says. Each of its endpoints, filters and orders is there. What is answered is computed again from the list of all
# allocations.
. "$(dirname "$0")/lib.sh"
need curl python3 lua5.4
start_collector
# Leaks at many call sites: nothing is freed at the end.
cat >"$T/work.lua" <<'LUA'
local t, s = {}, {}
for i = 1, 1000 do t[i] = { name = "entry " .. i, value = i } end
for i = 1, 200 do s[#s + 1] = string.rep("x", i) end
print(#table.concat(s))
os.exit(0, false)
LUA
record lua5.4 "$T/work.lua" >/dev/null
wait_collector

port=8080
[ "$inside" = namespace ] || port=18085 # 8080 may be somebody's
"$COLLECTOR" serve --data "$T/data" --http "127.0.0.1:$port" >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q "$port" "$T/serve.out"

# A line of the README, run by a shell.
line() {
	bash -ec "cd '$T'; ${1//localhost:8080/127.0.0.1:$port}" || fail "$1"
}
curl() {
	command curl --silent --show-error --fail-with-body "$@"
}
export -f curl

line 'curl "http://localhost:8080/data/last/export/flamegraph?lifetime=only_leaked" > flame.svg'
line 'curl "http://localhost:8080/data/last/allocation_ascii_tree?lifetime=only_leaked"' >"$T/tree.txt"
line 'curl "http://localhost:8080/data/last/allocations?sort_by=size&order=dsc&count=3"' >"$T/biggest.json"
line 'curl "http://localhost:8080/data/last/allocation_groups?group_allocations_min=10&group_leaked_allocations_min=50%&sort_by=all.size&count=3"' >"$T/groups.json"
line 'curl "http://localhost:8080/list"' >"$T/list.json"
line 'curl "http://localhost:8080/data/last/allocations"' >"$T/all.json"
line 'curl "http://localhost:8080/data/last/export/flamegraph.pl?lifetime=only_leaked"' >"$T/leaked.collapsed"
line 'curl "http://localhost:8080/data/last/export/heaptrack?lifetime=only_leaked"' >"$T/leaked.heaptrack"
line 'curl "http://localhost:8080/data/last/mmaps"' >"$T/mmaps.json"
line 'curl "http://localhost:8080/data/last/mallopts"' >"$T/mallopts.json"
id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["id"])' "$T/list.json")
line "curl 'http://localhost:8080/data/$id/allocations?count=1'" >"$T/by-id.json"

python3 - "$T" <<'PYTHON'
import json, sys, xml.dom.minidom
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
text = lambda name: open(f"{T}/{name}").read()
every = load("all")["allocations"]
leaked = [a for a in every if "deallocation" not in a]
assert load("all")["total_count"] == len(every) > 3000 and len(leaked) > 2000
leaked_bytes = sum(a["size"] for a in leaked)

# "Generate a flamegraph of leaked allocations": an SVG whose whole is what was leaked, with the functions that leaked and no others.
names = lambda rows: {f["function"] for a in rows for f in a["backtrace"] if "function" in f}
xml.dom.minidom.parse(f"{T}/flame.svg")
svg = text("flame.svg")
assert f"{len(leaked):,}" in svg or f"{leaked_bytes:,}" in svg
through = {}
for a in leaked:
    for name in names([a]):
        through[name] = through.get(name, 0) + a["size"]
for name, size in through.items():
    if 100 * size >= leaked_bytes: # wide enough to be drawn
        assert f"<title>{name}\n" in svg, name
only_freed = names(a for a in every if "deallocation" in a) - names(leaked)
for name in only_freed:
    assert f"<title>{name}\n" not in svg, name
collapsed = [line.rsplit(" ", 1) for line in text("leaked.collapsed").splitlines()]
assert sum(int(value) for _, value in collapsed) == leaked_bytes

# "Export the leaked allocations as an ASCII tree".
first = text("tree.txt").splitlines()[0].split()
assert first[0] == "100.0%" and f"{len(leaked):,}" in first, first

# "Export the biggest three allocations made by the application to JSON".
biggest = load("biggest")["allocations"]
assert [a["size"] for a in biggest] == sorted((a["size"] for a in every), reverse=True)[:3]
assert load("biggest")["total_count"] == len(every)

# "Export the biggest three call sites with at least 10 allocations where at least 50% are leaked".
sites = {}
for a in every:
    s = sites.setdefault(a["backtrace_id"], [0, 0, 0])
    s[0] += a["size"]
    s[1] += 1
    s[2] += "deallocation" not in a
fit = sorted((s for s in sites.values() if s[1] >= 10 and 2 * s[2] >= s[1]), reverse=True)
assert len(fit) > 3 and len(fit) < len(sites)
got = [[g["all"]["size"], g["all"]["allocated_count"], g["all"]["leaked_count"]] for g in load("groups")["allocations"]]
assert got == fit[:3] and load("groups")["total_count"] == len(fit), (got, fit[:3])

assert text("leaked.heaptrack").startswith("v ") and text("leaked.heaptrack").count("\n+ ") == len(leaked)
assert load("mallopts") == [] and load("mmaps") == {"operations": load("mmaps")["operations"]}
assert load("by-id")["total_count"] == len(every)
PYTHON

# Every filter and every order of the README; and a word that is none is refused with the parameter's name.
status() {
	command curl --silent --globoff --output "$T/answer" --write-out '%{http_code}' "http://127.0.0.1:$port/data/last/$1"
}
filters="from=10% to=90% from=1700000000 to=9999999999
lifetime=all lifetime=only_leaked lifetime=only_not_deallocated_in_current_range lifetime=only_deallocated_in_current_range
lifetime=only_temporary lifetime=only_whole_group_leaked
address_min=1 address_max=140737488355328 size_min=1 size_max=100 lifetime_min=0 lifetime_max=10
backtrace_depth_min=1 backtrace_depth_max=50 function_regex=main source_regex=c\$ negative_function_regex=zzz
negative_source_regex=zzz group_interval_min=1% group_interval_max=10 group_allocations_min=2 group_allocations_max=100
group_leaked_allocations_min=10% group_leaked_allocations_max=100"
for filter in $filters; do
	for path in allocations allocation_groups; do
		assert_eq "status of $path with $filter" 200 "$(status "$path?$filter&count=1")"
	done
	assert_eq "status of a wrong ${filter%%=*}" 400 "$(status "allocations?${filter%%=*}=(&count=1")"
	assert_contains "the answer" "$T/answer" "\"parameter\":\"${filter%%=*}\""
done
for key in timestamp address size; do
	assert_eq "status of sort_by=$key" 200 "$(status "allocations?sort_by=$key&order=asc&count=1")"
done
for side in only_matched all; do
	for key in min_timestamp max_timestamp interval allocated_count leaked_count size; do
		assert_eq "status of sort_by=$side.$key" 200 "$(status "allocation_groups?sort_by=$side.$key&order=dsc&count=1")"
	done
done

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
