#!/bin/bash
# `collector export --anonymise`. Every figure is what it was. No name, path, argument, host, thread, label, build id,
# address or time of the clock is left: they are looked for in the decompressed bytes, in whole and in pieces. The same
# seed gives the same names, so two recordings can be compared. What is to be kept is kept. Other formats are under the
# same names.
# ctest: LABELS e2e TIMEOUT 300
. "$(dirname "$0")/lib.sh"
need g++ python3 lz4 readelf

# ---- a program full of names ----
mkdir -p "$T/projekt-zebra/quellen"
cat >"$T/projekt-zebra/quellen/geheimsache.cc" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>
#include <vector>
#include "agent/preload/heapcast.h"
struct Kundenakte { int x[5]; };
std::vector<Kundenakte> *akten;
static void *kept[64];
__attribute__((noinline)) void *tresor_oeffnen(size_t n) { void *p = malloc(n); asm volatile("" : : "r"(p) : "memory"); return p; }
__attribute__((noinline)) void akte_anlegen(int i) { akten->push_back(Kundenakte{{i}}); }
static inline __attribute__((always_inline)) void *innerste_kammer(size_t n) { return tresor_oeffnen(n + 1); }
__attribute__((noinline)) void *vorzimmer(size_t n) { void *p = innerste_kammer(n); asm volatile("" : : "r"(p) : "memory"); return p; }
static void *arbeit(void *)
{
	pthread_setname_np(pthread_self(), "buchhaltung");
	if (heapcast_label) heapcast_label("quartalsbericht", 15);
	for (int i = 0; i < 200; i++) free(vorzimmer(100 + i));
	kept[1] = vorzimmer(4000);
	return NULL;
}
int main(int argc, char **argv)
{
	int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	pthread_t t;
	if (ftruncate(fd, 65536) || mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return 9;
	if (heapcast_text) heapcast_text("kontonummer 4711", 16);
	akten = new std::vector<Kundenakte>;
	for (int i = 0; i < 1000; i++) akte_anlegen(i);
	pthread_create(&t, NULL, arbeit, NULL);
	pthread_join(t, NULL);
	for (int i = 2; i < 40; i++) kept[i] = tresor_oeffnen(64 * i);
	for (int i = 2; i < 20; i++) kept[i] = realloc(kept[i], 128 * i);
	for (int i = 30; i < 40; i++) free(kept[i]);
	if (argc > 3) kept[50] = vorzimmer(30000);
	usleep(argc > 3 ? 50000 : 400000);
	return 0;
}
END
program=$T/projekt-zebra/tresorverwaltung
g++ -std=gnu++17 -g -O1 -pthread -I "$ROOT" -Wl,--build-id -o "$program" "$T/projekt-zebra/quellen/geheimsache.cc"
host=(env)
if unshare --uts true 2>/dev/null; then
	host=(unshare --uts sh -c 'hostname rechenzentrum7; exec "$@"' sh)
	need hostname
fi
"${host[@]}" "$AGENT" run --quiet --gather-maps=100ms --output "$T/one" -- "$program" --passwort=hunter2secret "$T/projekt-zebra/kartei.db" \
	2>"$T/run.err" || fail "$(cat "$T/run.err")"
"$AGENT" run --quiet --output "$T/two" -- "$program" --passwort=hunter2secret "$T/projekt-zebra/kartei.db" kurz
id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')

asked() {
	"$COLLECTOR" ledger --json "$1" >"$1.ledger" || fail "$1: the ledger"
	"$COLLECTOR" report --json --count 1000 "$1" >"$1.report"
	"$COLLECTOR" top --json --count 1000 "$1" >"$1.top"
	"$COLLECTOR" top --json --count 1000 --by backtrace "$1" >"$1.backtraces"
	"$COLLECTOR" leaks --suppress none --json --count 1000 "$1" >"$1.leaks"
	"$COLLECTOR" timeline --json "$1" >"$1.timeline"
	"$COLLECTOR" histogram --json "$1" >"$1.histogram"
	"$COLLECTOR" maps --json "$1" >"$1.maps"
	"$COLLECTOR" export --format json --with-stacks "$1" >"$1.rows"
	"$COLLECTOR" export --format collapsed "$1" >"$1.collapsed"
}

cat >"$T/figures.py" <<'END'
# figures.py BEFORE AFTER: all figures are the same, names and places aside.
import json, sys
ALIKE = {"id", "function", "function_short", "raw_function", "module", "file", "source", "library", "name", "host", "executable", "command_line", "path",
    "pid", "tid", "thread", "parent_pid", "uid", "stream", "text", "by", "tag", "address", "address_s", "start_wall_ns", "inode", "major",
    "minor", "xs", "first_address", "build_id", "site", "frames", "title", "notes", "timestamp", "timestamp_s", "unix_ms", "recording"}
def figures(x):
    if isinstance(x, dict):
        return {k: figures(v) for k, v in x.items() if k not in ALIKE}
    if isinstance(x, list):
        return sorted((figures(v) for v in x), key=lambda v: json.dumps(v, sort_keys=True)) if x and isinstance(x[0], dict) \
            else [figures(v) for v in x]
    return x
before, after = sys.argv[1:3]
for kind in ("ledger", "report", "top", "backtraces", "leaks", "timeline", "histogram", "maps"):
    a, b = (figures(json.load(open(f"{p}.{kind}"))) for p in (before, after))
    if a != b:
        for k in a if isinstance(a, dict) else ():
            if a[k] != b.get(k):
                sys.exit(f"{kind}: {k}: {str(a[k])[:400]} before, {str(b.get(k))[:400]} after")
        sys.exit(f"{kind} differs")
rows = [[json.loads(l) for l in open(p + ".rows")] for p in (before, after)]
assert len(rows[0]) == len(rows[1]) and len(rows[0]) > 250, [len(r) for r in rows]
moved = {int(b["address_s"], 16) - int(a["address_s"], 16) for a, b in zip(*rows)}
assert len(moved) == 1 and 0 not in moved and not any(m % 65536 for m in moved), moved
for a, b in zip(*rows):
    assert a["size"] == b["size"] and len(a["backtrace"]) == len(b["backtrace"]), (a, b)
lines = [[l.rsplit(" ", 1) for l in open(p + ".collapsed")] for p in (before, after)]
assert sorted(int(n) for _, n in lines[0]) == sorted(int(n) for _, n in lines[1])
assert sorted(s.count(";") for s, _ in lines[0]) == sorted(s.count(";") for s, _ in lines[1])
END

cat >"$T/leaks.py" <<'END'
# leaks.py FILE BEFORE WORD...: no piece of five letters of a word is in the bytes, nor what the recording before knows.
import json, platform, re, sys
data = open(sys.argv[1], "rb").read()
before, words = sys.argv[2], sys.argv[3:]
report = json.load(open(before + ".report"))
for line in open(before + ".rows"):
    for f in json.loads(line)["backtrace"]:
        words += [f.get(k) or "" for k in ("function", "function_short", "raw_function", "source", "library")]
words += [t["name"] for t in json.load(open(before + ".ledger"))["threads"]]
words += [m["name"] for m in json.load(open(before + ".maps")).get("maps", [])]
# Names of allocators stay, and what the kernel and the C++ library call their own.
public = {"malloc", "calloc", "realloc", "operator new", "libc.so.6", "[heap]", "[stack]", "[vdso]", "[vvar]", "[vsyscall]", "[vvar_vclock]", "(deleted)", platform.machine(), "std::vector",
    "heapcast", "preload", "__gnu_cxx::", "__libc_malloc", "std::allocator", "std::__new_allocator", "__interceptor_", "std::__uninitialized_",
    "std::_Vector_base"}
pieces = set()
for word in set(words):
    for part in re.findall(r"[A-Za-z0-9_.+-]{5,}", word):
        if part in public or any(part in p or p.strip("_:") in part for p in public):
            continue
        for i in range(len(part) - 4):
            pieces.add(part[i:i + 5])
public = " ".join(public)
found = sorted(p for p in pieces if p not in public and p.encode() in data)
if found:
    sys.exit(f"left: {found}")
print(f"{len(pieces)} pieces of {len(set(words))} names are in none of {len(data)} bytes", file=sys.stderr)
END

anonymised() {
	local from=$1 to=$2
	shift 2
	"$COLLECTOR" export --anonymise --output "$T/$to" "$@" "$T/$from" || fail "export ended with $?"
	lz4 -dc "$T/$to" >"$T/$to.bin"
}

asked "$T/one"
anonymised one a
[ "$(stat -c %a "$T/a")" = 600 ] || fail "it can be read by others"
asked "$T/a"
python3 "$T/figures.py" "$T/one" "$T/a" || fail "figures have changed"
words=(projekt-zebra quellen geheimsache Kundenakte tresor_oeffnen akte_anlegen innerste_kammer vorzimmer buchhaltung quartalsbericht
	kontonummer tresorverwaltung kartei passwort hunter2secret rechenzentrum7 "$(hostname)" "$T" /usr/lib/x86_64-linux-gnu "$id")
python3 "$T/leaks.py" "$T/a.bin" "$T/one" "${words[@]}" 2>&3 || fail "names are left in the recording"
lz4 -dc "$T/one" >"$T/one.bin"
python3 "$T/leaks.py" "$T/one.bin" "$T/one" "${words[@]}" >/dev/null 2>&1 && fail "the test finds nothing in a recording with names"
python3 - "$T" "$id" <<'PYTHON' || fail "something is left"
import json, sys
T, build_id = sys.argv[1:]
plain, other = open(T + "/one.bin", "rb").read(), open(T + "/a.bin", "rb").read()
assert bytes.fromhex(build_id) in plain and bytes.fromhex(build_id) not in other, "build id"
# A stream's id; the seconds of the wall clock, as varints are written: its upper bytes.
stream = bytes.fromhex(json.load(open(T + "/one.ledger"))["id"])
assert stream in plain and stream not in other, "stream"
a, b = (json.load(open(T + f"/{n}.report"))["process"] for n in ("one", "a"))
assert abs(b["start_wall_ns"] - a["start_wall_ns"]) > 1e9, "time"
assert a["pid"] != b["pid"] and a["host"] != b["host"] and a["executable"] != b["executable"], b
threads = [json.load(open(T + f"/{n}.ledger"))["threads"] for n in ("one", "a")]
assert all(x["tid"] != y["tid"] and (x["name"] != y["name"] or not x["name"]) for x, y in zip(*threads)), threads
# (There need be none yet when the agent has looked.)
heaps = [any(m["name"] == "[heap]" for m in json.load(open(T + f"/{n}.maps"))["maps"]) for n in ("one", "a")]
assert heaps[0] == heaps[1], "the heap has lost its name"
PYTHON
# What answers tell from names is told.
for filter in "--mmaped yes" "--arena main" "--thread 2" "--freed-at-once yes" "--size-min 4000" "--lifetime only_leaked"; do
	# shellcheck disable=SC2086
	assert_eq "$filter" "$("$COLLECTOR" report --json $filter "$T/one" | grep -o '"allocated":{[^}]*}' | head -1)" \
		"$("$COLLECTOR" report --json $filter "$T/a" | grep -o '"allocated":{[^}]*}' | head -1)"
done

# ---- names again: by the seed, otherwise never ----
anonymised one b
cmp -s "$T/a.bin" "$T/b.bin" && fail "two random salts are one"
anonymised one c --seed Eichhörnchen
anonymised one d --seed Eichhörnchen
cmp "$T/c.bin" "$T/d.bin" || fail "the same seed gives other names"
printf 'Eichhörnchen' >"$T/salt"
"$COLLECTOR" export --anonymize --format heapcast --output - --salt-file "$T/salt" "$T/one" | lz4 -dc | cmp - "$T/c.bin" || fail "the salt of a file"
anonymised two e --seed Eichhörnchen
"$COLLECTOR" diff --json --base "$T/one" "$T/two" >"$T/plain.diff"
"$COLLECTOR" diff --json --base "$T/c" "$T/e" >"$T/other.diff"
python3 - "$T/plain.diff" "$T/other.diff" <<'PYTHON' || fail "the difference of two"
import json, sys
def rows(path):
    d = json.load(open(path))
    keep = lambda g: {k: v for k, v in g.items() if not isinstance(v, str) and k not in ("base_process", "process", "groups", "notes", "hidden")}
    hidden = sorted((h["is_wrapper"], h["backtraces"]) for h in d["hidden"])
    return [keep(d), hidden] + sorted(json.dumps(keep(g), sort_keys=True) for g in d["groups"])
a, b = rows(sys.argv[1]), rows(sys.argv[2])
assert a == b and len(a) > 1, (a[:3], b[:3])
PYTHON

# ---- what is kept ----
anonymised one f --keep 'libc.so.*' --keep '*/libstdc++*'
"$COLLECTOR" export --format json --with-stacks "$T/f" >"$T/f.rows"
python3 - "$T/one.rows" "$T/f.rows" <<'PYTHON' || fail "--keep"
import json, sys
plain, kept = ([json.loads(l) for l in open(p)] for p in sys.argv[1:])
libc = 0
for a, b in zip(plain, kept):
    for x, y in zip(a["backtrace"], b["backtrace"]):
        if (x.get("library") or "").endswith("libc.so.6"):
            libc += 1
            assert x["library"] == y["library"] and x.get("function") == y.get("function"), (x, y)
        elif x.get("library"):
            assert x["library"] != y["library"] or "libstdc" in x["library"], (x, y)
assert libc, "no frame of libc"
PYTHON

# ---- other formats; usage ----
"$COLLECTOR" export --anonymise --seed Eichhörnchen --format collapsed "$T/one" >"$T/flat"
cmp "$T/flat" <("$COLLECTOR" export --format collapsed "$T/c") || fail "collapsed under other names"
"$COLLECTOR" export --anonymise --format json --with-stacks --size-min 4000 --size-max 4001 "$T/one" >"$T/rows"
assert_eq "rows that fit the filter" "$("$COLLECTOR" export --format json --with-stacks --size-min 4000 --size-max 4001 "$T/one" | wc -l)" "$(wc -l <"$T/rows")"
grep -q vorzimmer "$T/rows" && fail "a name is left in JSON"
assert_status 2 "$COLLECTOR" export --anonymise "$T/one" 2>"$T/err"
assert_contains "usage" "$T/err" "--output"
assert_status 2 "$COLLECTOR" export --anonymise --size-min 5 --output "$T/x" "$T/one" 2>"$T/err"
assert_contains "usage" "$T/err" "filters"
assert_status 2 "$COLLECTOR" export --anonymise --salt-file "$T/no-such" --output "$T/x" "$T/one" 2>/dev/null
assert_status 2 "$COLLECTOR" export --anonymise --seed '' --output "$T/x" "$T/one" 2>"$T/err"
assert_contains "no salt" "$T/err" "--seed is empty"
[ -z "$(ls "$T"/x* 2>/dev/null)" ] || fail "a half file was left"

# ---- stripped and anonymised, and the other way round ----
"$COLLECTOR" strip -o "$T/small" "$T/c" >/dev/null
asked "$T/small"
python3 - "$T/one.report" "$T/small.report" <<'PYTHON'
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
for k in ("allocated", "temporary", "leaked"):
    assert a[k] == b[k], (k, a[k], b[k])
PYTHON
