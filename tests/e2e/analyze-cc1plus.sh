#!/bin/bash
# ctest: LABELS full
# The collapsed export of the real compiler pass of g++ (deep stacks, long C++ names). `collector analyze` finds in it
# what the rules, written a second time in Python, find in the same file. In the recording it finds what it finds in the
# file.
. "$(dirname "$0")/lib.sh"
need g++ python3
cc1plus=$(g++ -print-prog-name=cc1plus)
[ -x "$cc1plus" ] || skip "g++ has no cc1plus"
"$AGENT" run --quiet --output "$T/cc1plus.heapcast" -- "$cc1plus" -quiet -O1 -ftemplate-depth=2000 "$TEST_SOURCE/data/heavy.cc" -o /dev/null
"$COLLECTOR" export --format collapsed cc1plus.heapcast >cc1plus.collapsed
[ "$(wc -l <cc1plus.collapsed)" -gt 1000 ] || fail "that was no workload"
for rules in general clickhouse; do
	"$COLLECTOR" analyze cc1plus.collapsed --rules $rules --json >file.json
	python3 "$TEST_SOURCE/lib-analyze.py" check cc1plus.collapsed file.json >seconds.txt
	"$COLLECTOR" analyze cc1plus.heapcast --rules $rules --json >stream.json
	python3 - <<'PYTHON'
import json
file, stream = json.load(open("file.json")), json.load(open("stream.json"))
for key in "total", "stack_traces", "functions", "subsystems":
    assert file[key] == stream[key], key
assert [(t["value"], t["frames"]) for t in file["top"]] == [(t["value"], t["frames"]) for t in stream["top"]]
PYTHON
done
"$COLLECTOR" report cc1plus.heapcast --json >report.json
assert_eq "bytes" "$(python3 -c 'import json; print(json.load(open("report.json"))["allocated"]["bytes"])')" \
	"$(python3 -c 'import json; print(json.load(open("stream.json"))["total"])')"
"$COLLECTOR" analyze cc1plus.heapcast >text.txt
assert_contains "the text" text.txt xmalloc "Full stacks"
python3 "$TEST_SOURCE/lib-analyze.py" narrow text.txt
