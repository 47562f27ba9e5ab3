#!/bin/bash
# What clients of the profiler whose API this is count on: rows, chains, markers, fields and units, and the parameters
# that its page sends along. The programs do what that profiler's integration tests do. Each line of docs/rest-api.md,
# "Where this differs", that a program can tell is here, too.
. "$(dirname "$0")/lib.sh"
need curl python3
for name in markers forked jumped traced left phases basic; do
	"$AGENT" run --quiet --output "$T/$name.heapcast" -- "$TARGETS/clients" "$name"
done
"$AGENT" run --quiet --output "$T/loaded.heapcast" -- "$TARGETS/clients" loaded "$TARGETS/plugin1.so"
MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 "$AGENT" run --quiet --output "$T/%p.heapcast" -- "$TARGETS/clients" forked followed
for name in cull crossed; do
	"$AGENT" run --quiet --short-lived 300ms --output "$T/$name.heapcast" -- "$TARGETS/clients" "$name"
done
export MEMORY_PROFILER_DISABLE_BY_DEFAULT=1
"$AGENT" run --quiet --output "$T/toggled.heapcast" -- "$TARGETS/clients" toggled
BY_SIGNAL=1 MEMORY_PROFILER_REGISTER_SIGUSR1=1 "$AGENT" run --quiet --output "$T/signal.heapcast" -- "$TARGETS/clients" toggled by-signal
unset MEMORY_PROFILER_DISABLE_BY_DEFAULT
"$AGENT" run --quiet --gather-maps=50ms --output "$T/maps.heapcast" -- "$TARGETS/clients" maps
"$AGENT" run --quiet --output "$T/calls.heapcast" -- "$TARGETS/clients" maps >/dev/null
"$COLLECTOR" serve --data "$T/none" --http 127.0.0.1:18089 "$T"/*.heapcast >"$T/serve.out" 2>"$T/serve.err" &
wait_for 10 "the server" grep -q 18089 "$T/serve.out"
cat >"$T/clients.py" <<'PYTHON'
import json, sys, urllib.error, urllib.parse, urllib.request
BASE = "http://127.0.0.1:18089"

def fetch(path):
    try:
        with urllib.request.urlopen(BASE + path) as answer:
            return answer.status, answer.headers["content-type"].split(";")[0], answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers["content-type"].split(";")[0], e.read()

def get(path):
    status, kind, body = fetch(path)
    assert status == 200 and kind == "application/json", (path, status, kind, body[:200])
    return json.loads(body)

def raw(path):
    status, _, body = fetch(path)
    assert status == 200, (path, status, body[:200])
    return body.decode()

NS = lambda t: t["secs"] * 10**9 + t["fract_nsecs"]
listed = get("/list")
assert len(listed) == 16
recordings = {r["cmdline"].split()[-1]: r for r in listed}
recordings["gathered"], recordings["calls"] = [r for r in listed if r["cmdline"].endswith(" maps")] # in the order in which they began
def data(name, path): return get(f"/data/{recordings[name]['id']}/{path}")
def own(name, path="allocations"): return [a for a in data(name, path)["allocations"] if any(f.get("source", "").endswith("clients.c") for f in a["backtrace"])]

# ---- rows, as test_basic has them ----
basic = recordings["basic"]
assert basic["executable"].split("/")[-1] == "clients" and {"id", "architecture", "runtime", "timestamp"} <= basic.keys()
leaked, freed, first, second, zeroed, aligned, third = own("basic")
assert [a["size"] for a in (leaked, freed, first, second, zeroed, aligned, third)] == [10001, 10002, 10003, 10004, 10005, 10006, 20004]
assert [("deallocation" in a) for a in (leaked, freed, first, second, zeroed, aligned, third)] == [False, True, True, True, False, False, True]
assert aligned["address"] % 65536 == 0 and len({a["thread"] for a in own("basic")}) == 1
assert leaked["backtrace"][-1]["line"] + 1 == freed["backtrace"][-1]["line"], (leaked["backtrace"], freed["backtrace"])
for a in own("basic"):
    assert a["address_s"] == f'{a["address"]:016X}' and a["extra_space"] == 0
    assert all(type(a[field]) is bool for field in ("is_mmaped", "in_main_arena", "is_jemalloc")), a

# ---- chains: what ended the chain stands with all blocks but its last ----
chain = [first, second, third]
assert [(a["position_in_chain"], a["chain_length"]) for a in chain] == [(0, 3), (1, 3), (2, 3)]
assert first["deallocation"]["timestamp"] == second["timestamp"] or NS(first["deallocation"]["timestamp"]) <= NS(second["timestamp"])
assert first["chain_deallocation"] == second["chain_deallocation"] == third["deallocation"]
assert not any("chain_deallocation" in a for a in (leaked, freed, zeroed, aligned, third))
assert all(NS(a["chain_lifetime"]) == NS(third["deallocation"]["timestamp"]) - NS(first["timestamp"]) for a in chain)

# ---- units: parts of the run are from 0 to 1, and a whole millisecond lasts to its end ----
runtime, start = NS(basic["runtime"]), NS(basic["timestamp"])
for a in own("basic"):
    assert NS(a["timestamp"]) == start + NS(a["timestamp_relative"])
    assert abs(a["timestamp_relative_p"] - NS(a["timestamp_relative"]) / runtime) < 1e-9 and 0 <= a["timestamp_relative_p"] <= 1
ms = NS(third["timestamp"]) // 10**6
in_ms = [a["id"] for a in data("basic", "allocations")["allocations"] if NS(a["timestamp"]) // 10**6 == ms]
assert [a["id"] for a in data("basic", f"allocations?from={ms}&to={ms}")["allocations"]] == in_ms and third["id"] in in_ms
s = ms // 1000
assert third["id"] in [a["id"] for a in data("basic", f"allocations?to={s}")["allocations"]]
assert not data("basic", f"allocations?to={start // 10**6 - 1}")["allocations"]

# ---- groups: fields on both sides, pictures of what matched and of all ----
groups = data("basic", "allocation_groups?sort_by=all.size&order=dsc&generate_graphs=1&size_min=10002&function_regex=%5Ebasic%24")["allocations"]
assert groups and all(g["only_matched"]["size"] >= 10002 for g in groups)
for g in groups:
    for side in (g["all"], g["only_matched"]):
        for field in ("min_timestamp_relative_p", "max_timestamp_relative_p"):
            assert 0 <= side[field] <= 1, side
        assert raw(side["graph_url"]).startswith("<") and raw(side["graph_preview_url"]).startswith("<")
    assert 0 <= g["all"]["max_total_usage_first_seen_at_relative_p"] <= 1
    asked = urllib.parse.parse_qs(g["only_matched"]["graph_url"].split("?")[1])
    assert asked["size_min"] == ["10002"] and asked["function_regex"] == ["^basic$"] and "sort_by" not in asked, asked
    assert "size_min" not in g["all"]["graph_url"]

# ---- markers ----
assert [a["size"] for a in own("markers")] == [101, 107, 102]
assert [a["size"] for a in data("markers", "allocations?marker=7")["allocations"]] == [107]

# ---- culling, as test_cull has it: chains of reallocs are kept or culled as a whole, and a group's counts are of what is kept ----
kept = own("cull")
assert [(a["size"], a["position_in_chain"], a["chain_length"], "deallocation" in a) for a in kept] == [
    (1235, 0, 1, True), (1236, 0, 1, False), (1700, 0, 2, True), (1800, 1, 2, True), (2000, 0, 2, True), (3000, 1, 2, False)], kept
groups = {g["backtrace_id"]: g for g in data("cull", "allocation_groups")["allocations"]}
assert len({a["backtrace_id"] for a in kept[:2]}) == 1 and len(groups) == len({a["backtrace_id"] for a in data("cull", "allocations")["allocations"]})
for backtrace, g in groups.items():
    rows = data("cull", f"allocations?backtraces={backtrace}")["allocations"]
    for side in (g["all"], g["only_matched"]):
        assert (side["allocated_count"], side["size"], side["min_size"], side["max_size"]) == \
            (len(rows), sum(a["size"] for a in rows), min(a["size"] for a in rows), max(a["size"] for a in rows)), (g, rows)
    assert g["all"].get("culled_count", 0) == (backtrace == kept[0]["backtrace_id"]), g
assert groups[kept[0]["backtrace_id"]]["all"]["culled_size"] == 1234
# What was culled is in totals and in what group filters compare with, where the profiler knew nothing of it.
assert data("cull", "report")["culled"]["blocks"] >= 3
assert [a["size"] for a in data("cull", "allocations?group_allocations_min=3&size_min=1234&size_max=1236")["allocations"]] == [1235, 1236]

# ---- maps, as test_mmap has them: one for each call, with what became of it ----
PAGE = 4096
for name in ("gathered", "calls"):
    maps = [m for m in data(name, "maps?with_regions=true&with_usage_history=true")["maps"] if any(f.get("function") == "maps" for f in m.get("source", {}).get("backtrace", []))]
    assert [m["size"] // PAGE for m in maps] == [123, 5, 6, 7, 8, 9, 10, 1], maps
    assert [("deallocation" in m) for m in maps] == [False, False, True, False, False, False, False, False], maps
    assert [m["id"] for m in maps] == sorted(m["id"] for m in maps) and all(m["timestamp"] == m["source"]["timestamp"] for m in maps)
    untouched, touched, gone, front, back, middle, over, upon = maps
    # What is left of each, and the call that took the rest, with its backtrace.
    whole = lambda m: (m["address"], m["size"])
    last = lambda m: sorted((r["address"] - m["address"], r["size"]) for r in m["regions"] if "deallocation" not in r)
    assert last(untouched) == [(0, 123 * PAGE)] and last(gone) == []
    assert last(front) == [(6 * PAGE, PAGE)] and last(back) == [(0, PAGE)]
    assert last(middle) == [(0, 3 * PAGE), (4 * PAGE, 5 * PAGE)] and last(over) == [(0, 9 * PAGE)]
    assert whole(upon) == (over["address"] + 9 * PAGE, PAGE) == whole(upon["regions"][0])
    for m, offset, pages, by in ((gone, 0, 6, "maps"), (front, 0, 6, "maps"), (back, 1, 7, "maps"), (middle, 3, 1, "maps"), (over, 9, 1, "map")):
        (cut,) = [r for r in m["regions"] if r.get("deallocation", {}).get("sources")]
        assert whole(cut) == whole(m), m
        (source,) = cut["deallocation"]["sources"]
        assert (source["address"], source["length"]) == (m["address"] + offset * PAGE, pages * PAGE), m
        functions = [f.get("function") for f in source["source"]["backtrace"]]
        assert "maps" in functions and functions[-1] in (by, "maps"), functions
        assert source["source"]["timestamp"] == cut["deallocation"]["timestamp"]
        sizes = [u["address_space"] for u in m["usage_history"]]
        assert (not sizes and m is gone) or sizes[0] == m["size"] and sizes[-1] in (m["size"] - pages * PAGE, m["size"]), (name, sizes)
    assert gone["deallocation"]["source"]["backtrace"] == source["source"]["backtrace"] or gone["deallocation"]["source"]["backtrace_id"]
    assert all(f"{r['address']:016X}" == r["address_s"] for m in maps for r in m["regions"])

gathered = data("gathered", "maps?with_regions=true&with_usage_history=true")
assert gathered["gathered"] and not data("calls", "maps")["gathered"]
maps = [m for m in gathered["maps"] if any(f.get("function") == "maps" for f in m.get("source", {}).get("backtrace", []))]
untouched, touched, gone, front, back, middle, over, upon = maps
# Protection, name and memory are the readings': of the touched one alone where the kernel joined it with nobody.
assert all(m["is_readable"] and not m["is_executable"] and not m["is_shared"] for m in maps) and not upon["is_writable"], maps
assert untouched["is_writable"] and {(r["size"] // PAGE, r["is_writable"]) for r in touched["regions"] if "deallocation" not in r} == {(1, False), (4, True)}, touched
assert touched["peak_rss"] >= 2 * PAGE
if "anon:touched" in touched["name"]: # the kernel keeps names
    assert touched["peak_rss"] == 2 * PAGE and "peak_rss_estimated" not in touched
    assert [(u["rss"], u["address_space"]) for u in touched["usage_history"]][-1] == (2 * PAGE, 5 * PAGE)
# What no call made has none: the program's file, libraries, [stack].
nobodys = [m for m in gathered["maps"] if "source" not in m]
assert any(m["name"].endswith("/clients") for m in nobodys) and any(m["name"] == "[stack]" for m in nobodys)
assert all({"is_readable", "name", "peak_rss", "regions", "usage_history"} <= m.keys() for m in nobodys)
# Nothing lies in two maps at the end.
there = sorted(whole(r) for m in gathered["maps"] for r in m["regions"] if "deallocation" not in r)
assert all(a[0] + a[1] <= b[0] for a, b in zip(there, there[1:])), there
calls = data("calls", "maps?with_regions=true")["maps"]
assert len(calls) == 8 and not any("is_readable" in m or "name" in m or "is_readable" in m["regions"][0] for m in calls)
assert [m["size"] // PAGE for m in data("calls", "maps?lifetime=only_temporary")["maps"]] == [6]
assert not data("calls", "maps?writable=only_true")["maps"] and not data("calls", "maps?writable=only_false")["maps"]

# ---- threads, children, jumps, ends: test_start_stop, cross-thread, test_fork, test_longjmp, test_immediate_exit ----
large = lambda name: [a for a in own(name) if a["size"] > 1000] # without what pthread_create allocates
for name in ("toggled", "by-signal"):
    rows = large(name)
    assert [a["size"] for a in rows] == [10002, 20002, 10003], (name, rows)
    assert [("deallocation" in a) for a in rows] == [True, False, False] and rows[0]["thread"] == rows[2]["thread"] != rows[1]["thread"], rows
(late,) = large("crossed")
assert late["size"] == 2222 and late["deallocation"]["thread"] != late["thread"]
rows = large("forked")
assert [a["size"] for a in rows] == [10001, 20001, 10002, 20002], rows
assert rows[0]["thread"] == rows[2]["thread"] != rows[1]["thread"]
stacks = {a["size"]: [f.get("raw_function") for f in a["backtrace"]][::-1] for a in own("jumped")}
assert stacks[123456][:4] == ["jump_0", "jump_1", "jump_2", "jump_3"] and stacks[123457][:2] == ["jump_2", "jump_3"], stacks
assert stacks[123458][0] in ("jumped", "main") and all("main" in s for s in stacks.values()), stacks
assert [a["size"] for a in own("left")] == [12001]
assert [a["size"] for a in own("traced") if a["size"] // 1000 == 123] == [123456, 123457] # backtrace loads a library first
plugin = [r for r in recordings if r.endswith("/plugin1.so")][0]
(block,) = [a for a in data(plugin, "allocations")["allocations"] if a["size"] == 123127] # tagged by the target
assert block["backtrace"][-1]["library"].endswith("/plugin1.so") and block["backtrace"][-1]["function"] == "plugin_work"
assert any(f.get("source", "").endswith("clients.c") for f in block["backtrace"])
# A child that is followed has a recording of its own.
parent, child = sorted((r for r in listed if r["cmdline"].endswith(" followed")), key=lambda r: r["pid"])
of_child = [a["size"] for a in get(f"/data/{child['id']}/allocations")["allocations"]]
assert 30001 in of_child and 30001 not in [a["size"] for a in get(f"/data/{parent['id']}/allocations")["allocations"]], of_child

# ---- what differs on purpose (docs/rest-api.md, "Where this differs") ----
sizes = lambda query: [a["size"] for a in own("basic", f"allocations?{query}")]
every = [10001, 10002, 10003, 10004, 10005, 10006, 20004]
assert sizes("from=0&to=100%25") == sizes("from=0") == sizes(f"from={start // 10**9 - 1}") == every and sizes("from=3600") == []
phases = data("phases", "timeline?points=300")
quiet = [i for i in range(1, len(phases["xs"])) if not phases["allocations"][i] and not phases["deallocations"][i]]
assert len(quiet) > 100 and all(phases["allocated_size"][i] == phases["allocated_size_last"][i - 1] for i in quiet)
assert sum(phases["allocations"]) == data("phases", "report")["allocated"]["blocks"]
by_default = [g["only_matched"]["size"] for g in data("phases", "allocation_groups")["allocations"]]
assert by_default == sorted(by_default, reverse=True) and len(by_default) >= 3
peaks = [m["peak_rss"] for m in data("gathered", "maps")["maps"]]
bounds = f"peak_rss_min={max(peaks)}&peak_rss_max={max(peaks)}"
assert {m["peak_rss"] for m in data("gathered", f"maps?{bounds}")["maps"]} == {max(peaks)} and max(peaks)
lines = raw(f"/data/{recordings['phases']['id']}/export/heaptrack").splitlines()
clocks = [i for i, line in enumerate(lines) if line.startswith("c ")]
times = [int(lines[i].split()[1], 16) for i in clocks]
assert times == sorted(times) and any(line.startswith("- ") for line in lines[clocks[-2]:]), times
(option,) = data("basic", "mallopts")
assert (option["param"], option["value"]) == ("M_ARENA_TEST", 3)
for operation in data("calls", "mmaps")["operations"]:
    (call,) = operation.values()
    assert not {"is_readable", "is_fixed", "offset", "file_descriptor", "requested_address"} & call.keys()
assert data("basic", "allocation_filter_to_script?size_min=1")["code"].startswith("select * from allocations where")
assert fetch(f"/data/{basic['id']}/script_files/0/x.svg")[0] == 404
with urllib.request.urlopen(BASE + "/list") as answer:
    assert not [h for h in answer.headers if h.lower().startswith("access-control")]

# ---- what the page sends along is passed over where it sends it; other names stay an error ----
looks = "group_allocations=true&show_full_backtraces=1"
order = looks + "&sort_by=only_matched.size&order=dsc&generate_graphs=true"
page = order + "&page=0&page_size=20"
of = f"/data/{basic['id']}/"
plain = data("basic", "allocations?size_min=10002")
shown = looks + "&page=1&page_size=20"
assert data("basic", f"allocations?size_min=10002&{shown}&generate_graphs=true") == plain
assert data("basic", f"allocation_groups?{shown}") == data("basic", "allocation_groups")
for path in ("export/flamegraph/flame.svg", "export/heaptrack/heaptrack.dat", "allocation_ascii_tree"):
    assert raw(f"{of}{path}?{order}&size_min=10002") == raw(f"{of}{path}?size_min=10002"), path
assert data("basic", f"allocation_filter_to_script?{page}&size_min=10002") == data("basic", "allocation_filter_to_script?size_min=10002")
assert data("basic", f"maps?{shown}&sort_by=size&order=dsc") == data("basic", "maps?sort_by=size&order=dsc")
assert data("basic", f"map_filter_to_script?{page.replace('only_matched.', '')}&allocated_after=10%25&allocated_before=50%25") == \
    data("basic", "map_filter_to_script?from=10%25&to=50%25")
for path in (f"timeline?{looks}", "allocations?colour=red", "export/flamegraph?page=1", "maps?group_by=size",
             "allocation_filter_to_script?colour=red"):
    status, _, body = fetch(of + path)
    assert status == 400 and b"no parameter is called" in body, (path, status, body)
PYTHON
python3 "$T/clients.py" || fail "a client of the API"
