#!/bin/bash
# Exports of single allocations and of moments, compared field by field with what `collector sql` says of the same
# recording: CSV, JSON lines, heaptrack's clock, massif's snapshots. A replay, done again, has the blocks that there
# were. Backtraces are written once, or in each line on request. A person at a terminal is told when it becomes much.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
record_branches
"$AGENT" run --quiet --output "$T/kinds.heapcast" -- "$BUILD/tests/e2e-kinds" >/dev/null

cat >check.py <<'PYTHON'
import csv, json, struct, subprocess, sys

name, collector = sys.argv[1:]
recording = name + ".heapcast"

def sql(text):
    return json.loads(subprocess.run([collector, "sql", "--json", recording, text], check=True, capture_output=True).stdout)["answers"][0]

def export(form, *options):
    return subprocess.run([collector, "export", "--format", form, *options, recording], check=True, capture_output=True).stdout

def same(what, expected, found):
    if expected != found:
        sys.exit(f"{name}: {what}: expected {expected}, found {found}")

process, = sql("select * from recording")
rows = sql("""select a.*, t.tid as death_tid, t.name as death_name, stack_text(a.stack) as way, stack_text(a.death_stack) as death_way
              from allocations a left join threads t on t.thread = a.death_thread order by id""")
text = lambda value: "" if value is None else str(value)
assert len(rows) > 100 and any(r["death_ns"] for r in rows) and any(r["death_ns"] is None for r in rows)

# ---- CSV: the backtraces in the lines, or in a table of their own, each once ----
def csv_rows(*options):
    return list(csv.DictReader(export("csv", *options).decode().splitlines(), strict=True))

def in_csv(row):
    dead = row["death_ns"] is not None
    return {"id": text(row["id"]), "address": hex(row["address"]), "size": text(row["size"]), "weight": "", "kind": row["kind"],
            "time_ns": text(row["birth_ns"]), "thread": text(row["tid"]), "thread_name": row["thread_name"], "end": row["end"],
            "freed_ns": text(row["death_ns"]), "free_kind": text(row["death_kind"]) if dead else "",
            "free_thread": text(row["death_tid"]) if dead else "", "free_thread_name": text(row["death_name"]) if dead else "",
            "reallocated_from": text(row["previous"]), "reallocated_to": text(row["next"]), "backtrace": text(row["way"]),
            "free_backtrace": text(row["death_way"]) if dead else ""}

same("CSV with stacks", [in_csv(row) for row in rows], csv_rows("--with-stacks"))
backtraces = csv_rows("--table", "backtraces")
ways = {line["backtrace_id"]: line["backtrace"] for line in backtraces}
same("a backtrace a line", len(backtraces), len(ways))
lines = csv_rows()
same("CSV, the ways' numbers", [(text(row["stack"]), text(row["death_stack"] or None)) for row in rows],
     [(line["backtrace_id"], line["free_backtrace_id"]) for line in lines])
same("backtraces that are named", set(ways), {line[key] for line in lines for key in ("backtrace_id", "free_backtrace_id") if line[key]})
for line in lines:
    line["backtrace"] = ways[line.pop("backtrace_id")]
    line["free_backtrace"] = ways.get(line.pop("free_backtrace_id"), "")
same("CSV", [in_csv(row) for row in rows], lines)
same("CSV, the first ones", csv_rows()[:7], csv_rows("--count", "7", "--table", "allocations"))

# ---- JSON lines: a frame before the first backtrace that has it, a backtrace before the first line that names it ----
def json_rows(*options):
    frames, ways, found = {}, {}, []
    for line in map(json.loads, export("json", *options).decode().splitlines()):
        if "frame_id" in line:
            assert frames.setdefault(line.pop("frame_id"), line) is line
        elif "frames" in line:
            assert ways.setdefault(line["backtrace_id"], line) is line
            line["backtrace"] = [frames[n] for n in line.pop("frames")]
        else:
            found.append(line)
            for part in (line, line.get("deallocation", {})):
                if "backtrace_id" in part:
                    part["backtrace"] = ways[part.pop("backtrace_id")]["backtrace"]
    return found

with_stacks = [json.loads(line) for line in export("json", "--with-stacks").decode().splitlines()]
lines = json_rows()
same("JSON, and with stacks", with_stacks, lines)
same("JSON, the first ones", lines[:7], json_rows("--count", "7"))
same("rows of JSON", len(rows), len(lines))
for row, line in zip(rows, lines):
    end = line.get("deallocation", {})
    same("JSON, row %d" % row["id"],
         [row[key] for key in ("id", "size", "kind", "birth_ns", "tid", "thread_name", "end", "death_ns", "previous", "next", "way")],
         [line["id"], line["size"], line["kind"], line["time_ns"], line["thread"], line["thread_name"], line["end"], end.get("time_ns"),
          line.get("reallocated_from"), line.get("reallocated_to"),
          ";".join(frame["name"].replace(";", ":") for frame in reversed(line["backtrace"]))])
    same("JSON, address", row["address"], int(line["address_s"], 16))
    if end:
        same("JSON, its end", [row["death_kind"], row["death_tid"]], [end["kind"], end.get("thread")])
tables = [[json.loads(line) for line in export("json", "--table", table).decode().splitlines()] for table in ("allocations", "backtraces")]
assert all("id" in line for line in tables[0]) and not any("id" in line for line in tables[1])
same("lines of both tables", len(export("json").splitlines()), sum(map(len, tables)))

# ---- replay: slots that are free are taken, and those in use at the end hold what is in use ----
data = export("replay")
slots, count = struct.unpack_from("<QQ", data)
same("bytes of the replay", 16 + 32 * count, len(data))
live, most, before, seen = {}, 0, 0, []
for operation, slot, time_us, size in struct.iter_unpack("<QQQQ", data[16:]):
    assert before <= time_us, "times ascend"
    assert operation in (1, 2, 3) and slot < slots and (slot in live) == (operation != 1), (operation, slot, live.get(slot))
    before = time_us
    seen.append((operation, time_us, size))
    if operation == 2:
        del live[slot]
    else:
        live[slot] = size
    most = max(most, len(live))
same("slots", slots, most)
same("in use after the replay", sum(r["size"] for r in rows if r["death_ns"] is None), sum(live.values()))
start_us = process["start_wall_ns"] // 1000
same("its allocations", sorted((3 if r["previous"] is not None else 1, start_us + r["birth_ns"] // 1000, r["size"]) for r in rows),
     sorted(s for s in seen if s[0] != 2))
same("its frees", sorted(start_us + r["death_ns"] // 1000 for r in rows if r["death_ns"] is not None and r["next"] is None),
     sorted(s[1] for s in seen if s[0] == 2))

# ---- heaptrack: its clock is in milliseconds, and ends with the recording ----
clock = [int(line.split()[1], 16) for line in export("heaptrack").decode().splitlines() if line.startswith("c ")]
assert clock == sorted(clock)
same("heaptrack's last moment", process["end_ns"] // 1000000, clock[-1] if clock else 0)

# ---- massif: a snapshot at the end of each part of the time, and trees that have the same whole ----
snapshots = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) | {"tree": [l for l in block.splitlines() if l.startswith("n")]}
             for block in export("massif").decode().split("#-----------\nsnapshot=")[1:]]
found = [int(s["mem_heap_B"]) for s in snapshots if s["heap_tree"] != "peak"]
same("massif", [0] + [r["bytes"] for r in sql("select bytes from timeline(64)")], found)
trees = [s for s in snapshots if s["tree"]]
assert len(trees) > 3
for s in trees:
    same("a tree of massif", int(s["mem_heap_B"]), int(s["tree"][0].split()[1]))
PYTHON
python3 check.py small "$COLLECTOR"
python3 check.py kinds "$COLLECTOR"

# ---- who looks on at a terminal is told when it becomes much: with stacks each time, not with stacks once ----
cat >deep.c <<'C'
#include <stdlib.h>
static __attribute__((noinline)) void descend(int depth)
{
	if (depth)
		descend(depth - 1);
	else
		for (int i = 0; i < 20000; i++)
			free(malloc(100));
	__asm__ volatile("");
}
int main(void)
{
	descend(100);
	return 0;
}
C
need gcc
gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls deep.c -o deep
"$AGENT" run --quiet --output deep.heapcast -- ./deep
cat >onlooker.py <<'PYTHON'
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
export = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=theirs)
os.close(theirs)
written = len(export.stdout.read(6 << 20))
export.stdout.close()
export.wait()
said = b""
try:
    while part := os.read(ours, 4096):
        said += part
except OSError: # the other end is closed
    pass
print(written, said.decode())
PYTHON
python3 onlooker.py "$COLLECTOR" export --format json --with-stacks deep.heapcast >told.txt
assert_contains "with stacks" told.txt "about " " MiB will be written" "without --with-stacks it is less"
python3 onlooker.py "$COLLECTOR" export --format json deep.heapcast >told.txt
grep -q "will be written" told.txt && fail "told of little: $(cat told.txt)"
[ "$("$COLLECTOR" export --format json deep.heapcast | wc -c)" -lt 10000000 ] || fail "stacks are repeated"
