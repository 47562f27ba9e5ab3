#!/bin/bash
# ctest: LABELS full
# Files of other tools, of one program whose allocations are known, become streams. Their figures are those that these
# tools print themselves, and every question works on them. Two of them, or one of them and a recording of ours, can be
# compared.
#
#   jemalloc    counts the bytes of its size classes, not those asked for: blocks are compared with ours, bytes with jeprof
#   pprof       by go tool pprof out of gperftools' file, and from a sampled one made by hand
. "$(dirname "$0")/lib.sh"
need heaptrack heaptrack_print zstd gzip python3 jeprof google-pprof go perl
HOLDER=$BUILD/tests/e2e-holder
library() { ldconfig -p | sed -n "s,.* => \(.*/$1\)\$,\1,p" | head -n 1; }
jemalloc=$(library libjemalloc.so.2) tcmalloc=$(library libtcmalloc.so.4)
[ -n "$jemalloc" ] && [ -n "$tcmalloc" ] || skip "no libjemalloc.so.2 or libtcmalloc.so.4"
cd "$T"
export HOME=$T XDG_CACHE_HOME=$T/cache PPROF_TMPDIR=$T GOCACHE=$T/go

# ---- the files ----
je() { # NAME SETTINGS [ARG...]
	local name=$1 settings=$2
	shift 2
	MALLOC_CONF="prof:true,prof_final:true,$settings,prof_prefix:$T/$name" LD_PRELOAD=$jemalloc "$HOLDER" "$@"
	mv "$name".*.heap "$name.heap"
}
je je lg_prof_sample:0,prof_accum:true
[ -s je.heap ] || skip "libjemalloc here has no profiler"
je more lg_prof_sample:0 1000
je sampled lg_prof_sample:12,prof_accum:true 1000
HEAPPROFILE=$T/gp LD_PRELOAD=$tcmalloc "$HOLDER" 2>gperftools.err
mv gp.*.heap gp.heap
heaptrack -o "$T/ht" "$HOLDER" >heaptrack.out 2>&1 || fail "heaptrack: $(tail -n 3 heaptrack.out)"
zstd -dqc ht.zst >ht.txt
gzip -c ht.txt >ht.gz
go tool pprof -proto -output gp.pb.gz gp.heap >go.out 2>&1 || fail "go tool pprof: $(tail -n 3 go.out)"
gzip -dc gp.pb.gz >gp.pb
"$AGENT" run --output ours.heapcast --quiet -- "$HOLDER"

# ---- as streams ----
for file in je.heap more.heap sampled.heap gp.heap gp.pb gp.pb.gz ht.txt ht.gz ht.zst; do
	"$COLLECTOR" import --output "$file.heapcast" "$file" >"$file.says"
	"$COLLECTOR" ledger "$file.heapcast" >ledger || fail "$file: $(tail -n 1 ledger)"
	"$COLLECTOR" report --json "$file.heapcast" >"$file.json"
	"$COLLECTOR" top --value in-use --json --count 1 "$file.heapcast" >"$file.top"
	assert_contains "report of $file" <("$COLLECTOR" report "$file.heapcast") "Imported from $file"
	"$COLLECTOR" leaks "$file.heapcast" >leaks
	assert_contains "leaks of $file" leaks take
	"$COLLECTOR" tree "$file.heapcast" >tree
	assert_contains "tree of $file" tree take main
	"$COLLECTOR" flamegraph --hide none --output "$file.svg" "$file.heapcast" >svg.says
	assert_contains "flame graph of $file" "$file.svg" take main
	"$COLLECTOR" export --format collapsed --value leaked "$file.heapcast" >"$file.collapsed"
done
"$COLLECTOR" report --json ours.heapcast >ours.json
"$COLLECTOR" export --hide none --format collapsed --value leaked ours.heapcast >ours.collapsed
"$COLLECTOR" import --output ours.collapsed.heapcast ours.collapsed >collapsed.says
"$COLLECTOR" report --json ours.collapsed.heapcast >ours.collapsed.json
gzip -k ours.collapsed
zstd -q ours.collapsed
for packed in ours.collapsed.gz ours.collapsed.zst; do
	"$COLLECTOR" import --output $packed.heapcast $packed >packed.says
	"$COLLECTOR" export --format collapsed $packed.heapcast >packed.collapsed
	cmp ours.collapsed packed.collapsed || fail "$packed is not what ours.collapsed is"
done

# ---- the figures ----
total() { sed -n 's/^Total: \([0-9.]*\).*/\1/p'; }
jeprof_all() { # FILE
	for what in inuse_space inuse_objects alloc_space alloc_objects; do
		jeprof --text --show_bytes --$what "$HOLDER" "$1" 2>>jeprof.err | total
	done | paste -sd' '
}
google_all() {
	for what in inuse_space inuse_objects alloc_space alloc_objects; do
		google-pprof --text --show_bytes --$what "$HOLDER" "$1" 2>>google.err | total
	done | paste -sd' '
}
figures() { # FILE: live bytes, live blocks, bytes, blocks
	python3 - "$1.json" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
print(*(r[what][unit] for what in ("leaked", "allocated") for unit in ("bytes", "blocks")))
PYTHON
}
assert_eq "jemalloc, exact" "$(jeprof_all je.heap)" "$(figures je.heap)"
assert_eq "gperftools" "$(google_all gp.heap)" "$(figures gp.heap)"
assert_eq "pprof of gperftools" "$(google_all gp.heap)" "$(figures gp.pb)"
for file in gp.pb ht.txt; do
	for packed in "$file.gz" "${file%.*}".gz "${file%.*}".zst; do
		[ ! -e "$packed.json" ] || assert_eq "$packed" "$(figures "$file")" "$(figures "$packed")"
	done
done

# heaptrack_print: its flame graphs have whole numbers.
heaptrack_all() {
	for what in leaked allocations; do
		heaptrack_print -f "$1" -p 0 -a 0 -T 0 -l 0 -F "stacks.$what" --flamegraph-cost-type "$what" >heaptrack.print 2>&1
		awk '{ sum += $NF } END { print sum }' "stacks.$what"
	done | paste -sd' '
}
assert_eq "heaptrack" "$(heaptrack_all ht.zst)" "$(figures ht.zst | awk '{ print $1, $4 }')"

python3 - <<'PYTHON'
import json, re, subprocess
load = lambda name: json.load(open(name + ".json"))
ours, je, gp, ht, sampled = (load(n) for n in ("ours", "je.heap", "gp.heap", "ht.zst", "sampled.heap"))

# All saw the same program: bytes asked for (not jemalloc, nor what libraries of the tools have for themselves). Each tool may see some
# blocks of a start-up of its own.
for other in (gp, ht):
    assert 0 <= other["leaked"]["bytes"] - ours["leaked"]["bytes"] <= 100000 and other["leaked"]["blocks"] - ours["leaked"]["blocks"] in range(0, 5), (other["leaked"], ours["leaked"])
assert je["leaked"]["blocks"] - ours["leaked"]["blocks"] in range(0, 5), (je["leaked"], ours["leaked"])
assert ours["leaked"]["bytes"] == 1500 * 100 + sum(i % 50 for i in range(1500)) + (3 << 20), ours["leaked"]

# Counts have no error, estimates have one; and the truth lies in it (5 in 100 times not, were it not always the same sizes).
for exact in (je, gp, ht):
    assert not exact["leaked"].get("bytes_error") and not exact["process"]["sampled"], exact["leaked"]
    assert exact["peak"]["bytes"] >= exact["leaked"]["bytes"]
assert sampled["process"]["sampled"] and sampled["process"]["sample_interval"] == 4096
assert sampled["leaked"]["bytes_error"] > 0, sampled["leaked"]
theirs = [float(subprocess.run(["jeprof", "--text", "--show_bytes", "--" + what, "/bin/true", "sampled.heap"], capture_output=True, text=True)
                .stdout.split("Total: ")[1].split()[0]) for what in ("inuse_space", "alloc_space")]
for mine, their in zip((sampled["leaked"]["bytes"], sampled["allocated"]["bytes"]), theirs):
    assert abs(mine - their) <= 20 + their / 1e6, (mine, their)

# The largest site is take(), with its file where debug information names it.
for name in ("je.heap", "gp.heap", "ht.zst", "gp.pb"):
    top = json.load(open(name + ".top"))
    text = json.dumps(top)
    assert '"take"' in text, (name, text[:500])
print("live bytes:", *(f"{n} {load(n)['leaked']['bytes']}" for n in ("ours", "je.heap", "gp.heap", "ht.zst", "sampled.heap")))
PYTHON

# ---- held against each other ----
"$COLLECTOR" diff --by backtrace --value leaked --base je.heap.heapcast more.heap.heapcast >diff
assert_contains "diff of two heaps of jemalloc" diff hold_more
"$COLLECTOR" diff --by backtrace --value leaked --json --base je.heap.heapcast more.heap.heapcast >diff.json
"$COLLECTOR" diff --by backtrace --value leaked --json --base ours.heapcast gp.heap.heapcast >places.json  # by build id and offset
"$COLLECTOR" diff --by backtrace --value leaked --json --base ours.heapcast ht.zst.heapcast >names.json    # by names and modules
"$COLLECTOR" diff --by backtrace --value leaked --json --base ours.heapcast ours.collapsed.heapcast >alone.json # by names alone
python3 - <<'PYTHON'
import json
first = json.load(open("diff.json"))["groups"][0]
assert (first["bytes"], first["blocks"], first["kind"]) == (1000 * 512, 1000, "added"), first
for name in ("places", "names", "alone"):
    d = json.load(open(name + ".json"))
    # The 3 MiB and the 1500 blocks are the same in both: what differs is what the tool itself has, or how many blocks a line is.
    assert all(abs(e["bytes"]) < 100000 for e in d["groups"]), (name, d["groups"][:3])
    print(name, "same", d["same_count"], "changed", d["changed_count"], "added", d["added_count"], "removed", d["removed_count"])
    assert d["same_count"] + d["changed_count"] >= 2, (name, d)
PYTHON

# ---- what the real files have not ----
corpus=$ROOT/tests/fuzz/corpus
take() { # FILE: as its format's corpus has it
	rm -f "$(basename "$1").heapcast"
	"$COLLECTOR" import --output "$(basename "$1").heapcast" "$corpus/$1" >"$(basename "$1").says"
	"$COLLECTOR" ledger "$(basename "$1").heapcast" >ledger
	"$COLLECTOR" report --json "$(basename "$1").heapcast" >"$(basename "$1").json"
}
# Types in an order of their own, inlined lines, mangled names, labels.
take import_pprof/four
assert_eq "four types" "407 5 1312 14" "$(figures four)"
"$COLLECTOR" export --format collapsed four.heapcast >four.collapsed
assert_contains "inlined and mangled" four.collapsed "main;foo::bar();parse 1005" "main;foo::bar() 300"
assert_contains "label" <("$COLLECTOR" export --format collapsed --tag key=value four.heapcast) "main;foo::bar() 300"
assert_eq "no other has it" 1 "$("$COLLECTOR" export --format collapsed --tag key=value four.heapcast | wc -l)"
# Scaled up already: with the error of as many samples as there were.
take import_pprof/sampled
assert_eq "scaled bytes" "530688" "$(figures sampled | cut -d' ' -f1)"
python3 - <<'PYTHON'
import json
r = json.load(open("sampled.json"))
assert r["process"]["sampled"] and r["process"]["sample_interval"] == 524288 and r["leaked"]["samples"] == 1, r["leaked"]
assert r["leaked"]["bytes_error"] > 6400 and r["allocated"]["bytes"] == 16000 + 1572864, r
PYTHON
# No memory at all.
take import_pprof/cpu
assert_contains "cpu" cpu.says "no profile of memory" "nanoseconds"
assert_contains "cpu, above each answer" <("$COLLECTOR" top cpu.heapcast) "no profile of memory"
# Versions 1 and 3 of heaptrack's text, with times.
for version in v1 v3 v3.gz v3.zst; do
	take import_heaptrack/$version
	assert_eq "heaptrack $version" "8256 3 8320 4" "$(figures $version)"
	"$COLLECTOR" report $version.heapcast >report
	assert_contains "$version" report "/opt/app/server --port 80" "200.0"
done
# Members and frames that are empty, as of concatenated files: nothing behind them is lost.
packed() { # COMMAND...: of its halves, and of nothing
	"$@" </dev/null
	"$@" </dev/null
	head -c 150 "$corpus/import_heaptrack/v3" | "$@"
	"$@" </dev/null
	"$@" </dev/null
	tail -c +151 "$corpus/import_heaptrack/v3" | "$@"
}
packed gzip -c >members.gz
packed zstd -qc >members.zst
for file in members.gz members.zst; do
	"$COLLECTOR" import --output $file.heapcast $file >$file.says
	"$COLLECTOR" report --json $file.heapcast >$file.json
	assert_eq "$file" "8256 3 8320 4" "$(figures $file)"
done
assert_eq "peak" 8256 "$(python3 -c 'import json; print(json.load(open("v3.json"))["peak"]["bytes"])')"
# Threads of jemalloc, and those that have ended.
take import_jemalloc/exact
assert_eq "jemalloc" "300 3 800 5" "$(figures exact)"
assert_contains "threads" ledger main worker "(ended threads)"
# Numbers of something else.
"$COLLECTOR" import --output blocks.heapcast --unit blocks ours.collapsed >blocks.says
assert_eq "blocks" "$(awk '{ sum += $NF } END { print sum }' ours.collapsed)" \
	"$("$COLLECTOR" report --json blocks.heapcast >blocks.json && figures blocks | cut -d' ' -f2)"
"$COLLECTOR" import --output samples.heapcast --unit samples ours.collapsed >samples.says
assert_contains "samples" samples.says "what stands here as bytes are samples"

# ---- in a store ----
"$COLLECTOR" import --data "$T/data" je.heap ht.zst >store.says
ask list >list
assert_eq "streams" 2 "$(grep -c imported list)"
assert_contains "last" <(ask report last) "Imported from ht.zst (heaptrack, by heaptrack"
ask ledger last >ledger
assert_eq "the same figures from the store" "$(figures ht.zst)" "$(ask report --json last >stored.json && figures stored)"

# ---- all of a file, or nothing of it ----
left() { find "$T/data/streams" -mindepth 1 -maxdepth 1 | wc -l; }
awk 'BEGIN { for (i = 0; i < 400000; i++) printf "main;f%d;g%d %d\n", i % 1000, i, 1 + i % 50 }' >long
blocks() { # COUNT: in heaptrack's text
	printf 'v 10400 1\nI 1000 100000\ni 401000 0\nt 1 0\na 40 1\n'
	awk -v count="$1" 'BEGIN { for (i = 0; i < count; i++) print "+ 0" }'
}
blocks 300000 >broken
echo '- 5' >>broken
assert_status 2 "$COLLECTOR" import --data "$T/data" broken 2>broken.err
assert_contains "broken" broken.err "line 300006"
assert_eq "streams after a file that is damaged at its end" 2 "$(left)"
(
	trap '' XFSZ
	ulimit -f 100
	assert_status 3 "$COLLECTOR" import --data "$T/data" long 2>full.err
)
assert_contains "a full disk" full.err "writing the recording"
assert_eq "streams after a full disk" 2 "$(left)"
# Killed in the middle: nobody sees what is left of it, and the next one removes it.
blocks 10000000 >longest
"$COLLECTOR" import --data "$T/data" longest >killed.says 2>&1 &
importer=$!
wait_for 20 "a recording to be written" eval '[ -s "$(echo "$T"/data/streams/draft-*/recording.heapcast)" ]'
kill -9 $importer
wait $importer 2>/dev/null || true
rm longest
assert_eq "what a kill left" 3 "$(left)"
ask list >list
assert_eq "streams after a kill" 2 "$(grep -c imported list)"
"$COLLECTOR" import --data "$T/data" ours.collapsed >store.says
assert_eq "streams and what a kill left" 3 "$(left)"
ask list >list
assert_eq "streams" 3 "$(grep -c imported list)"

# ---- what the numbers and names can't tell is said, and stays said ----
flat() { tr -s ' \n' ' ' <"$1"; } # lines may be broken anywhere
printf 'heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ 0x10000\n0: 7 [0: 0] @ 0x20000\n' >strange
"$COLLECTOR" import --output strange.heapcast strange >strange.says
"$COLLECTOR" top strange.heapcast >strange.top
assert_contains "told at the end" <(flat strange.says) "left out are 1 sums"
assert_contains "and in the recording" <(flat strange.top) "left out are 1 sums"
assert_contains "files without build ids" <(flat gp.heap.says) "no build ids"
{
	cat strange
	echo MAPPED_LIBRARIES:
	for ((i = 0; i < 9000; i++)); do printf '%x-%x r-xp 0 0:0 0 /no/file%d\n' $((i * 8192 + 65536)) $((i * 8192 + 69632)) $i; done
} >mapped
"$COLLECTOR" import --output mapped.heapcast mapped >mapped.says
assert_contains "too many files" <(flat mapped.says) "of 9000 mapped files the last 808 are left out"
cat >profiles.py <<'PYTHON'
import sys
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))
def number(field, n): return varint(field << 3) + varint(n)
def message(field, data): return varint(field << 3 | 2) + varint(len(data)) + data
def profile(name, samples, more=(), locations=1, mapping=b""):
    texts = ["", "inuse_objects", "count", "inuse_space", "bytes", "key", *more]
    with open(name, "wb") as file:
        for type in ((1, 2), (3, 4)):
            file.write(message(1, number(1, type[0]) + number(2, type[1])))
        for sample in samples:
            file.write(message(2, sample))
        if mapping:
            file.write(message(3, mapping))
        for i in range(locations):
            file.write(message(4, number(1, i + 1) + (number(2, 1) if mapping else b"") + number(3, 0x400000 + i)))
        for text in texts:
            file.write(message(6, text.encode()))
values = message(2, varint(1) + varint(10))
at = number(1, 1)
# A set of labels a sample, one stack too deep, bytes that no number can hold, a file of another build.
profile("labels", (at + values + message(3, number(1, 5) + number(2, 6 + i)) for i in range(65546)), (f"v{i}" for i in range(65546)))
profile("deep", [message(1, b"".join(varint(1) for i in range(8193))) + values])
profile("huge", [at + message(2, varint(1) + varint((1 << 63) - 1)), at + values])
profile("short", [at + message(2, varint(1))])
profile("other", [at + values], ["0123456789abcdef0123456789abcdef01234567", sys.argv[1]],
        mapping=number(1, 1) + number(2, 0x400000) + number(3, 0x410000) + number(5, 7) + number(6, 6))
PYTHON
python3 profiles.py "$HOLDER"
"$COLLECTOR" import --output labels.heapcast labels >labels.says
assert_contains "sets of labels" <(flat labels.says) "10 samples are without their labels"
assert_eq "their bytes" 655460 "$("$COLLECTOR" report --json labels.heapcast >labels.json && figures labels | cut -d' ' -f1)"
"$COLLECTOR" import --output other.heapcast other >other.says
assert_contains "another build" <(flat other.says) "1 mapped files are of another build here"
! "$COLLECTOR" export --format collapsed other.heapcast | grep -E '(^|;)(take|main|hold_more|_start)' >other.names || fail "names of another build: $(cat other.names)"

# ---- what is none ----
says() { # STATUS TEXT ARG...
	local status=$1 text=$2
	shift 2
	assert_status "$status" "$COLLECTOR" import --output none.heapcast "$@" 2>says.err
	assert_contains "$*" says.err "$text"
	[ ! -e none.heapcast ] || fail "$* left a file"
}
: >empty
head -c 300 ht.zst >cut.zst
head -c 700 gp.pb.gz >cut.gz
printf 'v 10400 3\n+ 5\n' >undefined
printf 'heap_v2/512\n@ 0x1\n  t*: 1: x\n' >damaged
printf 'v 10400 0\n' >old
says 2 "is empty" empty
says 2 "cut" cut.zst
says 2 "cut" cut.gz
says 2 "undefined: line 2" undefined
says 2 "damaged: line 3" damaged
says 2 "version 0" old
says 2 "no format that is known here" "$HOLDER"
says 2 "cannot read" nowhere
printf 'a;b 9223372036854775807\n' >large
printf 'a;b 1\na;b 9223372036854775807\n' >larger
"$COLLECTOR" import --output large.heapcast large >large.says
says 2 "larger: line 2: 9223372036854775807 bytes" larger
printf 'a;b 18446744073709551615\na;b 18446744073709551615\na;c 11\n' >wrapped
says 2 "wrapped: line 1: 18446744073709551615 bytes" wrapped
says 2 "huge: sample 2: 10 bytes" huge
says 2 "deep: sample 1: a stack of more than 8192 frames" deep
says 2 "short: sample 1: 1 values of 2 types" short
says 2 "nonsense" --format nonsense je.heap
says 2 "line 1" --format heaptrack je.heap
"$COLLECTOR" import --format collapsed --output told.heapcast ours.collapsed >told.says
"$COLLECTOR" report --json told.heapcast >told.json
assert_eq "a format that is told" "$(figures ours.collapsed)" "$(figures told)"
