#!/bin/bash
# Two recorders and one program: what heaptrack counts of a deterministic program is what is counted here. heaptrack's
# own reader reads the export as it reads its own files. Where they differ, and why:
#
#   start-up   heaptrack brings libstdc++ into the process, which allocates a pool of its own: left out here
#   peak       events within one microsecond have no order in a recording of ours. So the report's peak is the least that it can
#              have been, the export's the most, and heaptrack's lies between (a few blocks of these small programs)
#   temporary  a block is temporary here if its thread allocated nothing between, there only if nobody freed anything, either. So there
#              are no fewer here, and at most 1 % of the allocations more. In the export, events within one microsecond have no order:
#              half of them are enough there
#   leaked     heaptrack stops listening at exit(): what is freed after that is leaked for it alone. None of these programs does so
. "$(dirname "$0")/lib.sh"
need heaptrack heaptrack_print zstd python3 sqlite3 lua5.4

cat >"$T/work.sql" <<'SQL'
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) insert into t select x, x || 'a' from c;
create index i on t(b);
select count(*), sum(length(b)) from t group by a % 10;
SQL
cat >"$T/work.lua" <<'LUA'
local t, s = {}, {}
for i = 1, 2000 do t[i] = { name = "entry " .. i, value = i } end
for i = 1, 200 do s[#s + 1] = string.rep("x", i) end
print(#table.concat(s))
LUA

compare() {
	local name=$1
	shift
	"$AGENT" run --output "$T/$name.heapcast" --quiet -- "$@" >"$T/out" 2>"$T/agent.err"
	heaptrack -o "$T/$name" "$@" >"$T/out" 2>"$T/heaptrack.err" || fail "heaptrack $name: $(tail -n 3 "$T/heaptrack.err")"
	zstd -dcq "$T/$name.zst" >"$T/$name.theirs" || skip "heaptrack here does not write zstd"
	"$COLLECTOR" report --json "$T/$name.heapcast" >"$T/$name.json"
	"$COLLECTOR" temporary --json "$T/$name.heapcast" >"$T/$name.temporary.json"
	"$COLLECTOR" export --format heaptrack --output "$T/$name.ours" "$T/$name.heapcast"
	heaptrack_print -f "$T/$name.ours" >"$T/$name.printed" 2>"$T/print.err" || fail "heaptrack_print: $(tail -n 3 "$T/print.err")"
	python3 - "$T/$name" <<'PYTHON'
import json, sys
base = sys.argv[1]

# heaptrack's text, as heaptrack_interpret writes it (sized strings from version 3 on) and as we do.
class Data:
    def __init__(self, path):
        strings, pointers, traces, self.infos = [""], [(0, "")], [()], []
        self.count, self.size, self.live, self.live_max, last, self.temporary = {}, {}, 0, 0, None, 0
        version, left = 0, {}
        self.allocations = self.bytes = 0
        own = set()
        for line in open(path, errors="replace"):
            kind, words = line[0], line[2:].split()
            if kind == "v":
                version = int(words[1], 16)
            elif kind == "s":
                strings.append(line[2:].rstrip("\n").split(" ", 1)[1] if version > 2 else line[2:].rstrip("\n"))
            elif kind == "i":
                module = strings[int(words[1], 16)].rsplit("/", 1)[-1] if len(words) > 1 else ""
                pointers.append((int(words[0], 16) & 0xfff, module))
            elif kind == "t":
                traces.append((pointers[int(words[0], 16)],) + traces[int(words[1], 16)])
            elif kind == "a":
                self.infos.append((int(words[0], 16), int(words[1], 16)))
                if traces[self.infos[-1][1]] and traces[self.infos[-1][1]][0][1].startswith(("libstdc++", "libheaptrack", "libunwind")):
                    own.add(len(self.infos) - 1)
            elif kind == "+":
                n = int(words[0], 16)
                if n in own:
                    continue
                size, trace = self.infos[n]
                site = traces[trace][:4]
                self.count[site] = self.count.get(site, 0) + 1
                self.allocations += 1
                self.bytes += size
                self.live += size
                self.live_max = max(self.live_max, self.live)
                left[n] = left.get(n, 0) + 1
                last = n
            elif kind == "-":
                n = int(words[0], 16)
                if n in own:
                    continue
                self.live -= self.infos[n][0]
                left[n] -= 1
                self.temporary += n == last
                last = None
        self.leaked = sum(self.infos[n][0] * count for n, count in left.items())
        self.leaks = sum(left.values())

theirs, ours = Data(base + ".theirs"), Data(base + ".ours")
report, temporary = json.load(open(base + ".json")), json.load(open(base + ".temporary.json"))
printed = open(base + ".printed").read()
where = base.rsplit("/", 1)[-1]

# The export is the recording.
assert (ours.allocations, ours.bytes) == (report["allocated"]["blocks"], report["allocated"]["bytes"]), where
assert (ours.leaks, ours.leaked) == (report["leaked"]["blocks"], report["leaked"]["bytes"]), where
assert f"calls to allocation functions: {ours.allocations} " in printed, printed[-600:]

# The recording is what heaptrack saw.
assert (ours.allocations, ours.bytes) == (theirs.allocations, theirs.bytes), (where, ours.allocations, theirs.allocations, ours.bytes, theirs.bytes)
assert (ours.leaks, ours.leaked) == (theirs.leaks, theirs.leaked), (where, ours.leaked, theirs.leaked)
peak = report["peak"]["bytes"]
assert peak <= theirs.live_max <= ours.live_max <= peak * 1.03 + 8192, (where, peak, theirs.live_max, ours.live_max)
for once, least in (ours.temporary, theirs.temporary / 2 - 10), (temporary["total"]["blocks"], theirs.temporary):
    assert least <= once <= theirs.temporary + ours.allocations / 100 + 10, (where, once, theirs.temporary)

# The ten sites (four innermost frames) with most allocations, by module and offset within the page.
top = lambda data: sorted(data.count.items(), key=lambda item: (-item[1], item[0]))[:10]
assert top(ours) == top(theirs), (where, top(ours), top(theirs))
print(f"{where}: {ours.allocations} allocations, {ours.bytes} bytes, {ours.leaked} leaked; "
      f"peak {report['peak']['bytes']} and {theirs.live_max}; temporary {temporary['total']['blocks']} and {theirs.temporary}")
PYTHON
}

compare sqlite3 sqlite3 :memory: ".read $T/work.sql"
compare lua lua5.4 "$T/work.lua"
PYTHONHASHSEED=0 compare python3 /usr/bin/python3 -S -E -c 'import json; print(len(json.dumps([{"n": i, "t": "x" * (i % 600)} for i in range(2000)])))'
