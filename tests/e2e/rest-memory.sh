#!/bin/bash
# Questions about memory, of a program whose every block and mapping is known. They are maps, mmaps, mallopts, regions,
# fragmentation, figures over time, and the filters by origin; with maps gathered and without.
. "$(dirname "$0")/lib.sh"
need curl python3
[ -r /proc/self/smaps ] || skip "there is no /proc/PID/smaps here"
options=(--quiet --figures-interval 100ms --allocator-figures)
"$AGENT" run "${options[@]}" --gather-maps=100ms --output "$T/with.heapcast" -- "$TARGETS/holes"
"$AGENT" run "${options[@]}" --output "$T/without.heapcast" -- "$TARGETS/holes"

"$COLLECTOR" serve --data "$T/none" --http 127.0.0.1:18087 "$T/with.heapcast" "$T/without.heapcast" >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18087 "$T/serve.out"
get() {
	curl --silent --show-error --fail-with-body --globoff "http://127.0.0.1:18087/data/$1" >"$2"
}
curl --silent http://127.0.0.1:18087/list >"$T/list.json"
with=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["id"])' "$T/list.json")

get "$with/maps?with_regions=true&with_usage_history=true" "$T/maps.json"
get "$with/maps?sort_by=peak_rss&order=dsc&count=3&writable=only_true&executable=only_false" "$T/top.json"
get "$with/maps?function_regex=^main\$&with_regions=true&with_usage_history=true" "$T/ours.json"
get "$with/maps?lifetime=only_temporary&size_min=1M&function_regex=^main\$" "$T/gone.json"
get "last/maps?with_regions=true&with_usage_history=true" "$T/calls.json"
get "$with/mmaps" "$T/mmaps.json"
get "$with/mallopts" "$T/mallopts.json"
get "$with/regions" "$T/regions.json"
get "$with/fragmentation" "$T/fragmentation.json"
get "last/fragmentation" "$T/no-maps.json"
get "$with/fragmentation_timeline" "$T/over-time.json"
get "$with/timeline_maps" "$T/timeline-maps.json"
get "$with/allocations?count=100000" "$T/all.json"
get "$with/raw_allocations?skip=1&count=5" "$T/raw.json"
for filter in marker=7 marker=0 mmaped=yes mmaped=no arena=main arena=non_main jemalloc=yes jemalloc=no; do
	get "$with/allocations?$filter&count=0" "$T/${filter/=/-}.json"
done
get "$with/export/graph?size_min=1000&size_max=1000" "$T/graph.svg"
get "$with/export/replay" "$T/replay"
heap=$(python3 -c 'import json, sys; print([m["id"] for m in json.load(open(sys.argv[1]))["maps"] if m["name"] == "[heap]"][0])' "$T/maps.json")
get "$with/allocations?from_map=$heap&size_min=1000&size_max=1000&count=0" "$T/from-heap.json"
for bad in "maps?chain_length_min=1" "maps?readable=yes" "maps?lifetime=only_chain_leaked" "allocations?mmaped=maybe" "allocations?arena=2" \
	"allocations?marker=x" "allocations?from_map=99999" "maps?sort_by=name" "export/graph?width=5" "mallopts?count=1"; do
	assert_eq "status of $bad" 400 "$(curl --silent --output "$T/bad" --write-out '%{http_code}' "http://127.0.0.1:18087/data/last/$bad")"
	name=${bad#*\?}
	assert_contains "the answer to $bad" "$T/bad" "\"parameter\":\"${name%%=*}\""
done

python3 - "$T" <<'PYTHON'
import json, struct, sys, xml.dom.minidom
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
MIB = 1 << 20
seconds = lambda t: t["secs"] + t["fract_nsecs"] / 1e9

# What smaps showed: the program's mapping with its call; [heap] with its history; sizes and protections.
maps = load("maps")
assert maps["gathered"] and maps["total_count"] == len(maps["maps"]) > 10
for m in maps["maps"]:
    for field in ("id", "address", "address_s", "timestamp", "timestamp_relative", "timestamp_relative_p", "size", "name", "peak_rss",
                  "is_readable", "is_writable", "is_executable", "is_shared", "regions", "usage_history"):
        assert field in m, field
    for u in m["usage_history"]:
        assert u["rss"] <= u["address_space"] and u["rss"] <= m["peak_rss"], m
    if m["usage_history"]:
        assert max(u["rss"] for u in m["usage_history"]) == m["peak_rss"], m
(heap,) = [m for m in maps["maps"] if m["name"] == "[heap]"]
assert heap["is_writable"] and not heap["is_executable"] and heap["peak_rss"] >= 2000 * 1000 and "source" not in heap
assert [m["peak_rss"] for m in load("top")["maps"]] == sorted((m["peak_rss"] for m in maps["maps"] if m["is_writable"] and not m["is_executable"]), reverse=True)[:3]
mapped = [o["mmap"] for o in load("mmaps")["operations"] if "mmap" in o and o["mmap"]["length"] == MIB]
(own,) = mapped
assert any(f.get("function") == "main" for f in own["backtrace"]) and own["pointer_s"] == f'{own["pointer"]:016X}'
assert [o["munmap"]["length"] for o in load("mmaps")["operations"] if "munmap" in o and o["munmap"]["pointer"] == own["pointer"]] == [MIB // 2]
# It is one map, whose first half was unmapped: with maps gathered and without.
for name in ("ours", "calls"):
    (m,) = [m for m in load(name)["maps"] if m["size"] == MIB]
    assert any(f.get("function") == "main" for f in m["source"]["backtrace"]) and m["source"]["thread"], m
    assert (name == "calls" or m["address"] == own["pointer"]) and "deallocation" not in m and m["source"]["timestamp"] == m["timestamp"], m
    whole, rest = m["regions"]
    assert (whole["address"], whole["size"]) == (m["address"], MIB) and (rest["address"], rest["size"]) == (m["address"] + MIB // 2, MIB // 2)
    (source,) = whole["deallocation"]["sources"]
    assert (source["address"], source["length"]) == (m["address"], MIB // 2) and "deallocation" not in rest, m
    assert any(f.get("function") == "main" for f in source["source"]["backtrace"])
    assert m["usage_history"][-1]["address_space"] == MIB // 2 and m["usage_history"][0]["address_space"] == MIB
(m,) = [m for m in load("ours")["maps"] if m["size"] == MIB]
assert m["is_writable"] and m["peak_rss"] >= MIB // 2 and not load("calls")["gathered"] and "is_writable" not in load("calls")["maps"][0]

(option,) = [o for o in load("mallopts") if o["param"] == "M_MMAP_THRESHOLD"]
assert (option["raw_param"], option["value"], option["result"]) == (-3, 256 << 10, 1) and option["backtrace"]

# Blocks: 667 + 1 + 100 of the program's, and the loader's few.
every = load("all")["allocations"]
live = [a for a in every if "deallocation" not in a]
live_bytes = sum(a["size"] for a in live)
assert sum(a["size"] == 1000 for a in live) == 667 and sum(a["size"] == 500 for a in live) == 100
count = lambda name: load(name)["total_count"]
assert count("marker-7") == 1 and count("marker-7") + count("marker-0") == len(every)
assert count("mmaped-yes") == 1 and count("mmaped-yes") + count("mmaped-no") == len(every)
assert count("arena-non_main") == 100 and count("arena-main") + count("arena-non_main") == len(every)
assert count("jemalloc-yes") == 0 and count("jemalloc-no") == len(every)
assert [a["size"] for a in every if a["is_mmaped"]] == [300000] and not any(a["is_jemalloc"] for a in every)
assert {a["size"] for a in every if not a["in_main_arena"]} == {500}
assert count("from-heap") == 2000

raw = load("raw")
assert len(raw) == 5 and raw[0]["backtrace"] == [f["address_s"] for f in every[1]["backtrace"] if not f["is_inline"]]

# Ranges: disjoint, ascending, and every block lies in one.
regions = load("regions")
ranges = regions["regions"]
assert all(a < b for a, b in ranges) and all(x[1] < y[0] for x, y in zip(ranges, ranges[1:]))
for a in live:
    assert any(start <= a["address"] and a["address"] + a["size"] <= end for start, end in ranges), a
assert heap["address"] <= regions["main_heap_start"] < regions["main_heap_end"] <= heap["address"] + heap["size"]

# Pages: counted here from the list of blocks.
page = load("fragmentation")["page_size"]
used = {}
for a in live:
    at, end = a["address"], a["address"] + a["size"]
    while at < end:
        to = min(end, at - at % page + page)
        used[at // page] = used.get(at // page, 0) + to - at
        at = to
for name in ("fragmentation", "no-maps"):
    f = load(name)
    assert (f["in_use_bytes"], f["in_use_blocks"]) == (live_bytes, len(live)), name
    assert sum(p["pages"] for p in f["pages_by_fill"]) == f["pages"] and f["page_bytes"] == f["pages"] * page
    assert sum(p["in_use_bytes"] for p in f["pages_by_fill"]) == live_bytes
f = load("fragmentation")
assert f["pages"] == len(used) and abs(f["page_fill"] - live_bytes / (len(used) * page)) < 1e-9
for i, p in enumerate(f["pages_by_fill"]):
    assert p["pages"] == sum(min(b * 10 // page, 9) == i for b in used.values()), (i, p)
assert f["resident_bytes"] == sum(r["resident_bytes"] for r in f["heap_regions"]) >= 2000 * 1000
assert abs(f["fragmentation"] - (1 - live_bytes / f["resident_bytes"])) < 1e-9 and 0.4 < f["fragmentation"] < 0.9
assert any(r["name"] == "[heap]" and r["in_use_blocks"] >= 667 for r in f["heap_regions"])
assert not load("no-maps")["gathered"] and "fragmentation" not in load("no-maps")

# Over time.
over, kernel = load("over-time"), load("timeline-maps")
assert len(over["xs"]) == len(over["in_use"]) == len(over["fragmentation"]) == len(over["anonymous"]) >= 2
assert max(over["in_use"]) >= 2000 * 1000 # the last reading may come before the last allocation
assert over["xs"] == sorted(over["xs"]) == kernel["xs"]
for key in ("address_space", "rss", "anonymous", "dirty", "clean", "swap"):
    assert len(kernel[key]) == len(kernel["xs"]), key
assert max(kernel["rss"]) >= 2000 * 1000
allocator = over["allocator"]
assert len(allocator["xs"]) == len(allocator["arena"]) == len(allocator["fragmentation"])
for arena, mapped, used, free, part in zip(allocator["arena"], allocator["hblkhd"], allocator["uordblks"], allocator["fordblks"], allocator["fragmentation"]):
    assert used + free == arena and abs(part - (free / (arena + mapped) if arena else 0)) < 1e-9

# The picture and the replay.
xml.dom.minidom.parse(f"{T}/graph.svg")
data = open(f"{T}/replay", "rb").read()
slots, operations = struct.unpack_from("=QQ", data)
records = list(struct.iter_unpack("=4Q", data[16:]))
assert len(records) == operations == len(every) + len(every) - len(live)
taken = {}
for operation, slot, us, size in records:
    assert slot < slots
    if operation == 1:
        assert slot not in taken
        taken[slot] = size
    elif operation == 2:
        del taken[slot]
    else:
        assert operation == 3 and slot in taken
        taken[slot] = size
assert sum(taken.values()) == live_bytes
PYTHON

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
