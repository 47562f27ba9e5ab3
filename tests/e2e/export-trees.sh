#!/bin/bash
# Exports of stacks and rows, by readers that are not ours. speedscope's file fits its published schema, a strict parser
# takes the collapsed stacks, dot draws the call graph, and python3 reads the CSV. Each export has the collector's
# totals and the sums that the program is known for.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
record_branches
whole=$(said allocated bytes) blocks=$(said allocated blocks) leaked=$(said leaked bytes)

# ---- speedscope ----
export_as speedscope small.json small.heapcast
cat >speedscope.py <<'PYTHON'
import json, sys

schema, whole, blocks = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
file = json.load(open("small.json"))
try:
    import jsonschema
except ImportError:
    print("no jsonschema: the schema is not looked at")
else:
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(file, schema)
frames = file["shared"]["frames"]
assert [p["name"] for p in file["profiles"]] == ["bytes", "blocks"]
for profile, total in zip(file["profiles"], (whole, blocks)):
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == profile["endValue"] == total, (profile["name"], sum(profile["weights"]), total)
    assert all(0 <= i < len(frames) for stack in profile["samples"] for i in stack)
by_innermost, stacks = {}, {}
for stack, weight in zip(file["profiles"][0]["samples"], file["profiles"][0]["weights"]):
    names = [frames[i]["name"] for i in stack]
    by_innermost[names[-1]] = by_innermost.get(names[-1], 0) + weight
    stacks[names[-1]] = names
assert by_innermost["keep_large"] == 1000000 and by_innermost["make_one"] == 64000, by_innermost
assert stacks["make_one"][-3:] == ["grow", "churn", "make_one"], stacks["make_one"]
assert any(f["name"] == "swell" and f["file"].endswith("/branches.c") and f["line"] > 0 for f in frames)
PYTHON
python3 speedscope.py "$TEST_SOURCE/data/speedscope-schema.json" "$whole" "$blocks"

# ---- collapsed, as flamegraph.pl reads it: frames, a blank, a number ----
export_as collapsed small.folded small.heapcast
cat >collapsed.py <<'PYTHON'
import re, sys

total, functions = 0, {}
lines = open("small.folded").read().split("\n")
assert lines.pop() == ""
assert lines == sorted(set(lines)), "sorted, each stack once"
for line in lines:
    stack, value = re.fullmatch(r"([^;\n]+(?:;[^;\n]+)*) (\d+)", line).groups()
    total += int(value)
    functions[stack.split(";")[-1]] = functions.get(stack.split(";")[-1], 0) + int(value)
assert total == int(sys.argv[1]), (total, sys.argv[1])
assert functions["swell"] == 10000000, functions
PYTHON
python3 collapsed.py "$whole"

# ---- CSV ----
export_as csv small.csv --with-stacks small.heapcast
export_as csv leaked.csv --value leaked small.heapcast
export_as csv peak.csv --value peak small.heapcast
cat >rows.py <<'PYTHON'
import csv, sys

whole, blocks, leaked, peak = map(int, sys.argv[1:])
def read(path):
    text = open(path, newline="").read()
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", ""), path
    rows = list(csv.DictReader(open(path, newline=""), strict=True))
    assert all(None not in row and None not in row.values() for row in rows), path
    return rows
size = lambda rows: sum(int(row["weight"] or row["size"]) for row in rows)
rows = read("small.csv")
assert (size(rows), len(rows)) == (whole, blocks), (size(rows), len(rows))
assert size(read("leaked.csv")) == leaked
assert size(read("peak.csv")) == peak, (size(read("peak.csv")), peak)
worker = [row for row in rows if row["thread_name"] == "worker"]
assert sum(int(row["size"]) for row in worker if row["end"] == "in_use") == 50 * 4096
assert all(row["backtrace"].endswith("grow;swell") and row["free_kind"] == "free" for row in rows if row["size"] == "50000")
assert all((row["end"] == "freed") == bool(row["freed_ns"]) for row in rows)
PYTHON
python3 rows.py "$whole" "$blocks" "$leaked" "$(said peak bytes)"

# ---- rows of a value, in the other formats of rows ----
assert_eq "JSON lines of what was leaked" "$leaked" \
	"$("$COLLECTOR" export --format json --with-stacks --value leaked small.heapcast | python3 -c 'import json, sys
print(sum(json.loads(line)["size"] for line in sys.stdin))')"

# ---- the call graph ----
need dot
export_as callgraph small.dot small.heapcast
dot -Tplain small.dot >plain.txt 2>"$T/dot.err" || fail "dot: $(cat "$T/dot.err")"
[ ! -s "$T/dot.err" ] || fail "dot warns: $(cat "$T/dot.err")"
export_as callgraph-svg small.svg small.heapcast
export_as callgraph-pdf small.pdf small.heapcast
head -c 5 small.pdf | grep -q '%PDF-' || fail "no PDF: $(head -c 20 small.pdf)"
cat >graph.py <<'PYTHON'
import re, sys, xml.etree.ElementTree as E

whole, svg = int(sys.argv[1]), "{http://www.w3.org/2000/svg}"
titles = [a.get("{http://www.w3.org/1999/xlink}title") for a in E.parse("small.svg").getroot().iter(svg + "a")]
nodes = {m[1]: (int(m[2]), int(m[3])) for m in (re.fullmatch(r"(.*): (\d+) itself, (\d+) in all", t) for t in titles) if m}
assert nodes["swell"] == (10000000, 10000000), nodes
assert nodes["churn"] == (0, 64000), nodes
assert nodes["work"] == (50 * 4096 + 16000, 50 * 4096 + 16000), nodes
assert nodes["grow"] == (0, 10000000 + 1000000 + 100000 + 64000 + 2560), nodes
assert nodes["main"][1] >= nodes["grow"][1] and max(n[1] for n in nodes.values()) <= whole
edges = {(m[1], m[2]): int(m[3]) for m in re.finditer(r'(?m)^(N\d+) -> (N\d+) .*tooltip="(\d+)"', open("small.dot").read())}
names = {m[1]: m[2] for m in re.finditer(r'(?m)^(N\d+) \[label="([^"\\]*)', open("small.dot").read())}
calls = {(names[a], names[b]): n for (a, b), n in edges.items()}
assert calls["grow", "swell"] == 10000000 and calls["grow", "keep_large"] == 1000000, calls
assert len([line for line in open("plain.txt") if line.startswith("node ")]) == len(names)
PYTHON
python3 graph.py "$whole"
export_as callgraph few.dot --count 3 small.heapcast
assert_eq "at most so many functions" 3 "$(grep -c '^N[0-9]* \[' few.dot)"
mkdir empty
assert_status 3 env PATH="$T/empty" "$COLLECTOR" export --format callgraph-svg small.heapcast >no.txt 2>no.err
assert_contains "without dot" no.err "install graphviz" "--format callgraph"
