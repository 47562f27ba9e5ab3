#!/bin/bash
# What was mapped when, as the collector tells it, compared with what the program itself read from /proc/self/smaps at
# the same moment. Every region has its size, permissions, offset, file and name, through mremap, mprotect, munmap, fork
# and exec. On a machine with much else to do, the agent may not have looked before the program went on: then it is
# tried again, slower.
. "$(dirname "$0")/lib.sh"
need python3

# MS that the program stays at each stage
look() {
	rm -rf "$T/seen" "$T"/*.heapcast*
	mkdir "$T/seen"
	"$AGENT" run --quiet --gather-maps=50ms --figures-interval 50ms --follow --output "$T/%p.heapcast" -- \
		"$BUILD/tests/e2e-maps" stages "$T/seen" "$1"
	assert_eq "streams" 2 "$(find "$T" -name '*.heapcast' | wc -l)"
	for f in "$T"/*.heapcast; do
		"$COLLECTOR" ledger "$f" >"$T/ledger.txt"
		"$COLLECTOR" report --json "$f" >"$f.report"
	done
}

cat >"$T/compare.py" <<'PYTHON'
import glob, json, re, subprocess, sys
collector, folder = sys.argv[1:]
HEAD = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)")
PARTS = {b"Rss": "rss", b"Pss": "pss", b"Shared_Clean": "shared_clean", b"Shared_Dirty": "shared_dirty",
         b"Private_Clean": "private_clean", b"Private_Dirty": "private_dirty", b"Anonymous": "anonymous", b"Swap": "swap"}

def smaps(path):
    regions = []
    for line in open(path, "rb").read().split(b"\n"):
        head = HEAD.fullmatch(line)
        if head:
            start, end, mode, offset, major, minor, inode, name = head.groups()
            regions.append({"address": int(start, 16), "size": int(end, 16) - int(start, 16),
                            "permissions": mode.decode(), "file_offset": int(offset, 16), "major": int(major, 16),
                            "minor": int(minor, 16), "inode": int(inode),
                            "name": name.replace(rb"\012", b" ").decode(), "usage": {}})
        elif line.split(b":")[0] in PARTS:
            regions[-1]["usage"][PARTS[line.split(b":")[0]]] = int(line.split()[1]) * 1024
    return regions

IDENTITY = ["address", "size", "permissions", "file_offset", "major", "minor", "inode", "name"]
def wall_to_stream():
    """CLOCK_MONOTONIC at the start of each stream: by this process's own two clocks."""
    import time
    return time.time_ns() - time.monotonic_ns()

def ask(stream, at_ns):
    out = subprocess.run([collector, "maps", "--json", "--at", f"{at_ns / 1e9:.6f}s", stream], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)

def compare(name, stream):
    process = json.load(open(stream + ".report"))["process"]
    at = int(open(f"{folder}/{name}.time").read()) + wall_to_stream() - process["start_wall_ns"]
    true, told = smaps(f"{folder}/{name}.smaps"), ask(stream, at)
    problems = []
    if told["regions"] != len(true) or told["cut"] or told["postponed"]:
        problems.append(f"{told['regions']} regions, cut {told['cut']}, postponed {told['postponed']}, of {len(true)}")
    by_address = {r["address"]: r for r in told["maps"]}
    for r in true:
        t = by_address.pop(r["address"], None)
        wrong = t is None or [k for k in IDENTITY if t[k] != r[k]]
        # Libraries are shared with other programs: what is clean or shared of them changes without this one.
        mine = r["usage"]["shared_clean"] == 0 and r["usage"]["private_clean"] == 0
        if not wrong and mine:
            wrong = [k for k in r["usage"] if k != "pss" and t[k] != r["usage"][k]]
        if wrong:
            problems.append(f"{wrong}: {t} is {r}")
    problems += [f"too many: {t}" for t in by_address.values()]
    rss = sum(r["usage"]["rss"] for r in true)
    if abs(told["total"]["rss"] - rss) > 0.02 * rss + 65536:
        problems.append(f"rss {told['total']['rss']}, not {rss}")
    for p in problems[:5]:
        print(name, p)
    return true, told, len(problems)

streams = sorted(glob.glob(folder + "/../*.heapcast"))
pid = {json.load(open(s + ".report"))["process"]["pid"]: s for s in streams}
first, child = pid[min(pid)], pid[max(pid)]
bad = 0
seen = {}
for name, stream in [("mapped", first), ("grown", first), ("unmapped", first), ("parent", first), ("child", child), ("next", first)]:
    true, told, problems = compare(name, stream)
    bad += problems
    seen[name] = {(r["size"] // 4096, r["permissions"]): r for r in told["maps"] if r["name"] == "" or "/" in r["name"]}

def expect(what, truth):
    global bad
    if not truth:
        print("not so:", what)
        bad += 1

def named(name, part): return [r for r in told_of[name] if part in r["name"]]
told_of = {name: compare(name, child if name == "child" else first)[1]["maps"] for name in seen}
odd = named("mapped", "an odd name (deleted)")
expect("file with an odd name, flagged as deleted", len(odd) == 1 and odd[0]["is_deleted"] and odd[0]["file_offset"] == 8192)
expect("its dirty pages", odd[0]["private_dirty"] == 3 * 4096)
expect("shared memory", [r["rss"] for r in named("mapped", "shared memory")] == [32 * 4096])
expect("gone", not named("unmapped", "shared memory") and named("unmapped", "(deleted) (deleted)"))
expect("split by mprotect", any(r["size"] == 256 * 4096 and r["permissions"] == "r--p" and r["rss"] == r["size"] for r in told_of["grown"]))
expect("grown", any(r["permissions"] == "rw-p" and r["size"] >= 1280 * 4096 for r in told_of["grown"]))
expect("history of the odd file", named("unmapped", "odd")[0]["peak_rss"] == 16 * 4096)
size = lambda n, pages, rss: any(r["size"] == pages * 4096 and r["rss"] == rss * 4096 for r in told_of[n])
expect("the child's region in its own stream", size("child", 77, 11) and not size("parent", 77, 11))
expect("the next image has its own", size("next", 99, 33) and not named("next", "odd"))
report = json.load(open(first + ".report"))["figures"]
peak = max(sum(r["usage"]["rss"] for r in smaps(f"{folder}/{n}.smaps")) for n in ["mapped", "grown", "unmapped", "parent", "next"])
expect(f"highest rss {report['most']['rss']} as in smaps {peak}", abs(report["most"]["rss"] - peak) < 0.05 * peak + 262144)
sys.exit(bad != 0)
PYTHON
for pause in 600 2000 5000; do
	look $pause
	if python3 "$T/compare.py" "$COLLECTOR" "$T/seen" >"$T/compare.out"; then exit 0; fi
done
cat "$T/compare.out"
fail "maps differ"
