#!/bin/bash
# collector analyze of a recording gives the same as of its collapsed export, for each value and filter. Growth comes
# from what realloc did. --format memtracer is compared with a program whose blocks are known by number, size and
# function.
. "$(dirname "$0")/lib.sh"
need python3
start_collector
record "$BUILD/tests/e2e-kinds"
wait_collector

ask report last --json >report.json
ask analyze last --json >analyze.json
ask analyze last --value leaked --json >leaked.json
ask analyze last --weight blocks --json >blocks.json
ask export last --format collapsed >all.collapsed
ask export last --format collapsed --value leaked >leaked.collapsed
ask export last --format collapsed --weight blocks >blocks.collapsed
for name in all leaked blocks; do "$COLLECTOR" analyze $name.collapsed --json >$name.file.json; done
ask analyze last --format memtracer --json --stack-traces >tracer.json
ask analyze last --memtracer --value leaked --json >tracer-leaked.json

python3 - <<'PYTHON'
import json
load = lambda name: json.load(open(name + ".json"))
report, stream = load("report"), load("analyze")
assert stream["total"] == report["allocated"]["bytes"] and stream["blocks"] == report["allocated"]["blocks"]
assert load("leaked")["total"] == report["leaked"]["bytes"]
assert load("blocks")["total"] == report["allocated"]["blocks"] and load("blocks")["unit"] == "blocks"
for stream, file in ("analyze", "all.file"), ("leaked", "leaked.file"), ("blocks", "blocks.file"):
    a, b = load(stream), load(file)
    for key in "total", "stack_traces", "functions", "subsystems":
        assert a[key] == b[key], (stream, key, a[key], b[key])
    for key in "innermost", "outermost", "callers":
        rows = lambda r: sorted((f["function"], f["value"], f["traces"]) for f in r[key]["functions"])
        assert rows(a) == rows(b), (stream, key)
    tops = lambda r: [(t["value"], t["frames"]) for t in r["top"]]
    assert tops(a) == tops(b), stream

# 32 + 64 + ... + 1024 came of realloc.
inner = {f["function"]: f for f in load("analyze")["innermost"]["functions"]}
assert inner["grow_list"]["value"] == 2032 and inner["grow_list"]["grown"] == 2016, inner["grow_list"]
assert inner["make_names"]["value"] == 4000 and inner["make_names"]["grown"] == 0
assert ("growth-site", "grow_list") in {(f["kind"], f["name"]) for f in load("analyze")["findings"]}

rows = {}
tracer = load("tracer")
for row in tracer["allocations"]:
    rows[row["function"], row["type"]] = (row["count"], row["size"])
    assert row["stack"] and row["stack"][-1]["function"], row
expected = {("make_names", "malloc"): (100, 4000), ("make_tables", "calloc"): (10, 80000),
            ("make_pages", "aligned_alloc"): (3, 12288), ("grow_list", "malloc"): (1, 16), ("grow_list", "realloc"): (6, 2016)}
for key, value in expected.items():
    assert rows.get(key) == value, (key, value, rows.get(key))
assert tracer["recorded"] == report["allocated"]["blocks"] == sum(r["count"] for r in tracer["allocations"])
assert tracer["bytes"] == report["allocated"]["bytes"] == sum(r["size"] for r in tracer["allocations"])
leaked = {(r["function"], r["type"]): r["count"] for r in load("tracer-leaked")["allocations"]}
assert leaked["make_names", "malloc"] == 50 and leaked["make_tables", "calloc"] == 10 and ("grow_list", "realloc") not in leaked, leaked
PYTHON

# The table, its limits, a file.
ask analyze last --format memtracer >tracer.txt
assert_eq "the first line" "Memory Tracer. Recorded $(python3 -c 'import json; print(json.load(open("report.json"))["allocated"]["blocks"])') allocations." "$(head -n 1 tracer.txt)"
assert_eq "the head" "Source Location||Count||Size||Type" "$(sed -n 3p tracer.txt | sed 's/ *|| */||/g')"
row() { grep -qE "$1" <(sed 's/ *|| */||/g' tracer.txt) || { cat tracer.txt >&3; fail "there is no line $1"; }; }
row '^(kinds.c:[0-9]+|make_tables)\|\|10\|\|78KB\|\|calloc$'
row '^(kinds.c:[0-9]+|make_names)\|\|100\|\|3.9KB\|\|malloc$'
ask analyze last --format memtracer --minimum-count 10 --minimum-size 5K --output few.txt >where.txt
assert_eq "where it is" "$T/few.txt" "$(cat where.txt)"
assert_eq "lines of at least ten and 5 KiB" 1 "$(grep -c '||' <(tail -n +4 few.txt))"
ask analyze last --format memtracer --stack-traces >stacks.txt
assert_contains "--stack-traces" stacks.txt "    at make_tables" "    at main"

# A recording's file, its path instead of `last`; the text fits 80 columns.
cp data/streams/*/recording.heapcast one.heapcast
"$COLLECTOR" analyze one.heapcast >text.txt
assert_contains "the text" text.txt "Counted: all that was allocated, freed again or not" "make_tables" "collector flamegraph one.heapcast" "collector analyze one.heapcast --drill"
python3 "$TEST_SOURCE/lib-analyze.py" narrow text.txt
ask analyze last --value leaked --function-regex make_ --html page.html >out.txt
assert_contains "the page" page.html "never freed" "make_tables"
