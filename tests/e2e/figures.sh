#!/bin/bash
# Resident memory, page faults and the allocator's own figures, beside what the kernel and the program say themselves.
. "$(dirname "$0")/lib.sh"
need python3

cat >"$T/program.py" <<-'PYTHON'
	import ctypes, json, mmap, re, resource, sys, time
	blocks = []
	libc = ctypes.CDLL(None)
	def status(): return dict(re.findall(r"(\w+):\s+(\d+) kB", open("/proc/self/status").read()))
	def rollup(): return {n: int(kib) for n, kib in re.findall(r"(\w+):\s+(\d+) kB", open("/proc/self/smaps_rollup").read())}
	memory = mmap.mmap(-1, 64 << 20)
	for at in range(0, 48 << 20, 4096): memory[at] = 1
	time.sleep(0.4)
	peak = int(status()["VmHWM"])
	memory.close()
	libc.malloc.restype = ctypes.c_void_p
	for _ in range(20000): libc.malloc(1000)
	class Info(ctypes.Structure): _fields_ = [("f", ctypes.c_size_t * 10)]
	info = None
	if hasattr(libc, "mallinfo2"):
	    libc.mallinfo2.restype = Info
	    info = list(libc.mallinfo2().f)
	for _ in range(int(sys.argv[2])): # the allocator is asked at the start of a hook
	    time.sleep(0.1)
	    ctypes.cast(libc.malloc(10), ctypes.c_void_p)
	s, parts, usage = status(), rollup(), resource.getrusage(resource.RUSAGE_SELF)
	json.dump({"rss": int(s["VmRSS"]), "pss": parts["Pss"], "shared": parts["Shared_Clean"] + parts["Shared_Dirty"], "peak": peak, "swap": int(s["VmSwap"]), "space": int(s["VmSize"]),
	           "minor": usage.ru_minflt, "major": usage.ru_majflt, "info": info}, open(sys.argv[1], "w"))
	time.sleep(0.4)
PYTHON
"$AGENT" run --quiet --figures-interval 100ms --allocator-figures --output "$T/r" -- python3 "$T/program.py" "$T/own.json" 25
"$COLLECTOR" report --json "$T/r" >"$T/report.json"
"$COLLECTOR" report "$T/r" >"$T/report.txt"
assert_contains "the report" "$T/report.txt" "Resident: " "minor and " "Allocator, as of "
"$COLLECTOR" ledger "$T/r" >"$T/ledger.txt"
python3 - "$T/own.json" "$T/report.json" <<-'PYTHON' || fail "figures differ"
	import json, sys
	own, report = (json.load(open(f)) for f in sys.argv[1:])
	last, most, bad = report["figures"]["last"], report["figures"]["most"], []
	def near(what, told, kib, part=0.03, slack=512):
	    if abs(told / 1024 - kib) > kib * part + slack: bad.append((what, told / 1024, kib))
	near("rss", last["rss"], own["rss"])
	near("pss", last["pss"], own["pss"], slack=1024 + own["shared"]) # who shares its pages comes and goes
	if not last["pss"] < last["rss"]: bad.append(("pss beside rss", last["pss"], last["rss"]))
	near("peak", most["rss_peak"], own["peak"])
	near("highest rss", most["rss"], own["peak"])
	near("address space", last["address_space"], own["space"], 0.01)
	near("swap", last["swap"], own["swap"])
	near("dirty and clean", last["dirty"] + last["clean"], last["rss"] / 1024, 0.001)
	if not own["minor"] <= last["minor_faults"] <= own["minor"] + 2000: bad.append(("faults", last["minor_faults"], own["minor"]))
	if abs(last["major_faults"] - own["major"]) > 5: bad.append(("major", last["major_faults"], own["major"]))
	told, info = report["allocator"], own["info"]
	print(told, info)
	if (told is None) != (info is None): bad.append(("allocator", told, info))
	elif told:
	    for name, i in [("arena", 0), ("uordblks", 7), ("fordblks", 8), ("hblkhd", 4)]:
	        near(name, told[name], info[i] / 1024, 0.05, 1024)
	    if told["uordblks"] < 20000 * 1000: bad.append(("in use", told["uordblks"]))
	print(*bad, sep="\n")
	sys.exit(bool(bad))
PYTHON

# It is asked by nobody unless it was wanted, and an allocator that is not glibc's is not told by glibc's.
"$AGENT" run --quiet --output "$T/without" -- python3 "$T/program.py" "$T/own.json" 1
"$COLLECTOR" report --json "$T/without" >"$T/without.json"
assert_contains "without" "$T/without.json" '"allocator":null'
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1) || true
if [ -n "$jemalloc" ]; then
	LD_PRELOAD=$jemalloc "$AGENT" run --quiet --allocator-figures --output "$T/je" -- python3 -c 'import time; [time.sleep(0.1) for _ in range(25)]'
	"$COLLECTOR" report --json "$T/je" >"$T/je.json"
	assert_contains "jemalloc" "$T/je.json" '"allocator":null'
fi

# A life that is shorter than the interval: what it had at most is what the kernel says when it is over, not what the one look saw.
cat >"$T/short.py" <<-'PYTHON'
	import mmap, resource, sys, time
	memory = mmap.mmap(-1, 96 << 20)
	for at in range(0, 96 << 20, 4096): memory[at] = 1
	time.sleep(float(sys.argv[1]))
	print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
PYTHON
# RECORDING KIB SLACK: the report's peak beside the program's own.
peak_is() {
	"$COLLECTOR" report --json "$1" | python3 -c '
import json, sys
kib, slack = map(int, sys.argv[1:])
figures = json.load(sys.stdin)["figures"]
told = figures["most"]["rss_peak"] / 1024
print("resident at most:", told, "told,", kib, "true")
sys.exit(abs(told - kib) > slack)' "$2" "$3" >&3 || fail "what $1 had resident at most"
}
peak=$("$AGENT" run --quiet --output "$T/short" -- python3 "$T/short.py" 0)
peak_is "$T/short" "$peak" 512
"$COLLECTOR" report "$T/short" >"$T/short.txt"
tr -s '\n ' '  ' <"$T/short.txt" | grep -q 'MiB at most;' || { cat "$T/short.txt" >&3; fail "the report does not say it as the kernel did"; }
# Where nobody waits for the program, it is looked at while it grows, and the report says until when.
"$AGENT" serve --socket "$T/socket" --output "$T/served" >"$T/serve.out" 2>"$T/serve.err" &
agent=$!
wait_for 10 "the agent" grep -q "programs ask at" "$T/serve.err"
peak=$(HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD python3 "$T/short.py" 0.3)
kill -TERM "$agent"
wait "$agent"
peak_is "$T/served" "$peak" 4096
"$COLLECTOR" report "$T/served" >"$T/served.txt"
tr -s '\n ' '  ' <"$T/served.txt" | grep -q 'MiB at most until then;' || { cat "$T/served.txt" >&3; fail "the report does not say until when"; }
# Every look has room, also where the first batch is the last one, and the place a young one.
HEAPCAST_OUTPUT=$T/grows LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-swells"
wait_for 10 "its recording" "$COLLECTOR" ledger "$T/grows"
"$COLLECTOR" report --json "$T/grows" | grep -q '"figures":{' || fail "there are no figures of a program that grows"
# The kernel counts a child that was waited for into its parent's peak: then it is not taken.
"$AGENT" run --quiet --output "$T/shell" -- sh -c "python3 '$T/short.py' 0.1; true" >"$T/child.out"
"$COLLECTOR" report --json "$T/shell" >"$T/shell.json"
told=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["figures"]["most"]["rss_peak"] >> 10)' <"$T/shell.json")
[ "$told" -lt 16384 ] || fail "a shell had $told KiB resident at most, its child $(cat "$T/child.out")"
# Each number as of when: a share that was not looked at again is of that earlier moment.
"$COLLECTOR" report "$T/grows" | tr -s '\n ' '  ' >"$T/grows.txt"
python3 - "$T/grows.txt" <<-'PYTHON' || { cat "$T/grows.txt" >&3; fail "the share is of another look"; }
	import re, sys
	sys.exit(not re.search(r"at the last look, at [^(]*\((its own share was [^)]* at [^)]*|[0-9.]+ [KMG]iB of it its own share)\)", open(sys.argv[1]).read()))
PYTHON
