#!/bin/bash
# The massif export in ms_print. Snapshots ascend. The peak is the collector's peak, with `swell` on top of its tree.
# The last snapshot is what is in use at the end. Every tree adds up (ms_print would stop where it does not), and its
# figures are those by function.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need ms_print
record_branches
export_as massif massif.out small.heapcast
ms_print --threshold=0 massif.out >printed.txt 2>"$T/ms_print.err" || fail "ms_print: $(cat "$T/ms_print.err")"

cat >check.py <<'PYTHON'
import re, sys

peak, end = map(int, sys.argv[1:])
rows = [[int(n.replace(",", "")) for n in line.split()] for line in open("printed.txt") if re.match(r"\s*\d+\s+[\d,]+\s+[\d,]+\s+[\d,]+\s+\d+\s+\d+$", line)]
assert len(rows) > 20, len(rows)
assert [row[0] for row in rows] == list(range(len(rows))), "numbers"
assert all(a[1] <= b[1] for a, b in zip(rows, rows[1:])), "times"
assert max(row[2] for row in rows) == peak, (max(row[2] for row in rows), peak)
assert rows[-1][2] == end, (rows[-1], end)
text = open("printed.txt").read()
number = int(re.search(r"(\d+) \(peak\)", text).group(1))
assert rows[number][2] == peak, (rows[number], peak)

# Trees, as they were printed: a line's children add up to it, or to what it does not have itself.
found = {}
for block in re.split(r"(?m)^-{80}$", text):
    lines = [(m.start(3) // 2, float(m.group(3)), int(m.group(4).replace(",", "")), m.group(5)) for m in
             re.finditer(r"(?m)^((?:[| ] )*)(->)?(\d\d\.\d\d)% \(([\d,]+)B\) ?(.*)$", block)]
    for line in lines:
        name = re.search(r"0x[0-9A-F]+: (\S+) \(", line[3])
        if name:
            found.setdefault(name.group(1), []).append(line[2])
assert 10000000 in found["swell"], found["swell"]
assert "branches.c:" in text
print(len(rows), "snapshots, peak", peak)
PYTHON
python3 check.py "$(said peak bytes)" "$(said leaked bytes)"

# ---- one moment, one value ----
single() {
	export_as massif one.out "$@" small.heapcast
	ms_print --threshold=0 one.out >one.txt 2>"$T/ms_print.err" || fail "ms_print $*: $(cat "$T/ms_print.err")"
}
single --value leaked
grep -qF "(1,000,000B) 0x" one.txt || fail "keep_large is not among what was leaked: $(cat one.txt)"
grep -qF "100.00% ($(python3 -c "print(f'{$(said leaked bytes):,}')")B) (heap allocation functions)" one.txt || fail "the whole: $(cat one.txt)"
single --value allocated --function-regex '^swell$'
grep -qF "100.00% (10,000,000B) (heap allocation functions)" one.txt || fail "swell alone: $(cat one.txt)"
