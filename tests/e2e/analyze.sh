#!/bin/bash
# collector analyze of files. A profile whose truth is known. Lines that are hard to read. A profile as large servers
# have it, compared with the rules written a second time (lib-analyze.py). The list of candidates, and what is refused.
. "$(dirname "$0")/lib.sh"
need python3
rules() { python3 "$TEST_SOURCE/lib-analyze.py" "$@"; }
analyze() { "$COLLECTOR" analyze "$@"; }

# ---- a profile whose truth is known: 10,000 bytes ----
cat >known.collapsed <<'END'
clone3;start_thread;DB::MergeTask::execute();DB::Arena::addMemoryChunk(unsigned long);operator new(unsigned long) 4000
clone3;start_thread;DB::HashedDictionary<1ul>::loadData();DB::AggregatedDataVariants::init();operator new(unsigned long) 3000
clone3;start_thread;DB::SystemLog<DB::QueryLogElement>::SystemLog();DB::PODArrayBase::reserve;je_malloc 500
clone3;start_thread;DB::SystemLog<DB::TextLogElement>::SystemLog();DB::PODArrayBase::reserve;je_malloc 500
clone3;start_thread;DB::SystemLog<DB::PartLogElement>::SystemLog();DB::PODArrayBase::reserve;je_malloc 500
main;DB::Server::main();DB::SystemLog<DB::MetricLogElement>::SystemLog();DB::PODArrayBase::reserve;je_malloc 500
main;work;DB::Buffer::grow;DB::PODArrayBase::realloc;do_rallocx 1000

nothing
a;b -5
a;b 18446744073709551616
END
analyze known.collapsed --rules clickhouse --json >known.json
python3 - known.json <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
assert (r["total"], r["stack_traces"], r["unit"], r["rules"]) == (10000, 7, "bytes", "clickhouse"), r
subsystems = {s["name"]: (s["value"], s["traces"]) for s in r["subsystems"]}
# What was asked for comes before what serves it: an arena in a merge, aggregation while a dictionary is loaded.
assert subsystems == {"Merges and mutations": (4000, 1), "Dictionary loading": (3000, 1), "System logs": (2000, 4),
                      "(other)": (1000, 1)}, subsystems
functions = lambda key: [(f["function"], f["value"]) for f in r[key]["functions"]]
assert functions("outermost")[0] == ("DB::MergeTask::execute", 4000), functions("outermost")
assert functions("innermost")[0] == ("DB::Arena::addMemoryChunk", 4000), functions("innermost")
assert ("DB::Buffer::grow", 1000) in functions("innermost") and ("work", 1000) in functions("callers")
assert functions("callers")[:2] == [("DB::MergeTask::execute", 4000), ("DB::HashedDictionary<1ul>::loadData", 3000)], functions("callers")
top = r["top"][0]
assert [f["noise"] for f in top["frames"]] == [True, False, False, False, False], top
assert top["brief"] == "DB::Arena::addMemoryChunk <- DB::MergeTask::execute <- start_thread <- clone3", top
kinds = {(f["kind"], f["name"]) for f in r["findings"]}
assert ("site", "DB::Arena::addMemoryChunk") in kinds and ("growth-site", "DB::Buffer::grow") in kinds, kinds
assert ("growth", None) in kinds and not any(k == "subsystem" for k, _ in kinds), kinds
assert r["grown"] == 1000 and "left out 3 of 11 lines, the first is line 9" in r["note"], r["note"]
for text in "1 without a value", "1 with a value below 0", "1 with a value beyond 64 bits":
    assert text in r["note"], r["note"]
assert any("--drill 'Merges and mutations'" in n["command"] for n in r["next"]), r["next"]
PYTHON

# The same value on many ways is a pattern; by other rules there is another finding.
printf 'main;%s;reserve_log 1000\n' a b c d e >repeated.folded
echo 'main;f;other_site 1000' >>repeated.folded
analyze repeated.folded --json >repeated.json
python3 - repeated.json <<'PYTHON'
import json, sys
f = {f["kind"]: f for f in json.load(open(sys.argv[1]))["findings"]}
assert f["repeated"]["name"] == "reserve_log" and (f["repeated"]["value"], f["repeated"]["traces"]) == (5000, 5), f
assert "no-subsystem" in f or f["site"]["value"] == 5000, f
PYTHON

# ---- a terminal's text ----
analyze known.collapsed --rules clickhouse >known.txt
assert_contains "the text" known.txt "9.77 KiB (10,000 bytes) on 7 stack traces" "left out 3 of 11" "Findings" "Subsystems" "Merges and mutations" \
	"Why: the outermost" "Where: the innermost" "Its callers" "Full stacks" "operator new  [noise]" "What to ask next"
analyze known.collapsed --rules clickhouse --search arena >search.txt
assert_contains "--search" search.txt 'Search: "arena"' "(40.0 %) on 1 stack trace" "DB::MergeTask::execute" "operator new"
analyze known.collapsed --rules clickhouse --drill 'system' >drill.txt
assert_contains "--drill" drill.txt 'Subsystem "System logs"' "(20.0 %) on 4 stack traces" "DB::SystemLog<DB::MetricLogElement>"
for file in known.txt search.txt drill.txt; do
	python3 "$TEST_SOURCE/lib-analyze.py" narrow $file
	! grep -q $'\033' $file || fail "$file: colours in a pipe"
done
analyze known.collapsed --rules clickhouse --search ARENA --drill '(other)' --json >asked.json
python3 - asked.json <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
s, d = r["search"], r["drill"]
assert (s["value"], s["traces"], len(s["top"])) == (4000, 1, 1)
assert [(f["function"], f["value"]) for f in s["callers"]["functions"]] == [("DB::MergeTask::execute", 4000)]
assert [(f["function"], f["value"]) for f in s["callees"]["functions"]] == [("operator new", 4000)]
assert d["subsystem"] == "(other)" and d["value"] == 1000 and len(d["traces"]) == 1
PYTHON
analyze known.collapsed --top 2 --json >two.json
python3 -c 'import json; r = json.load(open("two.json")); assert len(r["top"]) == 2 and len(r["innermost"]["functions"]) == 2 and r["innermost"]["count"] == 7'

# ---- rules of one's own, which use those that are shipped ----
printf 'use allocators\n# parts\nsubsystem Mine\n\t*Arena*\n  DB::Hashed*\nnoise *addMemoryChunk*\n' >my.rules
analyze known.collapsed --rules ./my.rules --json >mine.json
python3 -c '
import json
r = json.load(open("mine.json"))
assert {s["name"]: s["value"] for s in r["subsystems"]} == {"Mine": 7000, "(other)": 3000}, r["subsystems"]
assert r["innermost"]["functions"][0]["function"] == "DB::MergeTask::execute"'
for name in general cxx clickhouse python allocators; do analyze known.collapsed --rules $name >out.txt || fail "rules $name"; done

# ---- the rules said a second time ----
rules odd odd.collapsed
analyze odd.collapsed --json >odd.json
rules check odd.collapsed odd.json >seconds.txt
rules make 20000 made.collapsed shuffled
for name in general clickhouse; do
	analyze made.collapsed --rules $name --json >made.json
	rules check made.collapsed made.json >seconds.txt
done
sort made.collapsed >sorted.collapsed
analyze - --rules clickhouse --json <sorted.collapsed >sorted.json
rules check sorted.collapsed sorted.json >seconds.txt
# A line of more than a MiB is left out, and what comes after it is not lost.
{ head -c 3000000 /dev/zero | tr '\0' x; echo ' 7'; cat known.collapsed; } >long.collapsed
analyze long.collapsed --json >long.json
python3 -c 'import json; r = json.load(open("long.json")); assert r["total"] == 10000 and "1 longer than 1 MiB" in r["note"], r["note"]'

# ---- what it says to type next is understood ----
analyze known.collapsed --weight blocks >known.txt
assert_contains "what to ask next" known.txt "collector import --unit blocks known.collapsed"
PATH=$BUILD/bin:$PATH
sed -n '/^What to ask next/,$s/^  \(collector .*\)/\1/p' known.txt >next.txt
[ "$(wc -l <next.txt)" -ge 4 ] || fail "there is little to ask next: $(cat known.txt)"
grep -v 'my\.rules' next.txt | while read -r line; do eval "$line" </dev/null >out.txt || fail "$line"; done
grep -q . <(collector list) || fail "collector import made no stream"
rm -r heapcast-data report.html

# ---- which files there are ----
mkdir -p empty some/b/c some/b/deep
cp known.collapsed some/one.collapsed
cp known.collapsed some/b/two.folded
cp known.collapsed some/b/c/three.collapsed
mkdir some/b/c/d && cp known.collapsed some/b/c/d/four.collapsed
(cd empty && assert_status 1 "$COLLECTOR" analyze >../none.txt)
assert_contains "analyze where there is nothing" none.txt "no *.collapsed" "collector analyze last"
(cd some && assert_status 0 "$COLLECTOR" analyze >../list.txt)
assert_contains "the list" list.txt "./one.collapsed" "./b/two.folded" "./b/c/three.collapsed" "$(stat -c %s known.collapsed) B" "collector analyze ./"
! grep -q four list.txt || fail "what lies deeper than three is listed"
(cd some && "$COLLECTOR" analyze --json) | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["files"]) == 3'

# ---- a page ----
printf '%s\n' 'main;<script>alert(1)</script>;"&<b> 5000' 'main;x 100' >hostile.collapsed
analyze hostile.collapsed --html page.html --drill other --search script >page.txt
assert_eq "where the page is" "$T/page.html" "$(cat page.txt)"
python3 - page.html <<'PYTHON'
import sys
from html.parser import HTMLParser
class Page(HTMLParser):
    tags, text, outside = set(), "", []
    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.outside += [v for k, v in attributes if k in ("src", "href")]
    def handle_data(self, data):
        self.text += data
page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert "script" not in page.tags and "b" in page.tags and not page.outside, (page.tags, page.outside)
assert "<script>alert</script>" in page.text and '"&<b>' in page.text
for heading in "Findings", "Subsystems", "Why", "Where", "Full stacks", "Search:", "Subsystem":
    assert heading in page.text, heading
PYTHON

# ---- packed ----
need gzip zstd
said_of() {
	"$COLLECTOR" analyze --json "$@" | sed 's/known\.collapsed\(\.gz\|\.zst\)*/-/g'
}
gzip -k known.collapsed
zstd -q known.collapsed
for packed in gz zst; do
	assert_eq "packed as $packed" "$(said_of known.collapsed)" "$(said_of "known.collapsed.$packed")"
done
"$COLLECTOR" analyze --json - <known.collapsed.gz >piped.json
grep -q '"total":10000,' piped.json || fail "packed, from a pipe: $(head -c 300 piped.json)"
head -c 100 known.collapsed.gz >cut.gz

# ---- what is refused ----
refused() {
	local status=$1 text=$2
	shift 2
	assert_status "$status" "$COLLECTOR" analyze "$@" >out.txt 2>err.txt
	assert_contains "analyze $*" err.txt "$text"
}
echo 'no profile at all' >none.collapsed
printf 'noise\n' >bad.rules
printf 'use ./round.rules\n' >round.rules
refused 2 "cannot read missing.collapsed: No such file" missing.collapsed
refused 2 "has no collapsed stacks" none.collapsed
refused 2 "cut.gz is cut: its gzip data end in the middle" cut.gz
refused 2 "asks about single allocations" known.collapsed --value leaked
refused 2 "asks about single allocations" known.collapsed --size-min 4K
refused 2 "general, clickhouse, cxx and python are shipped" known.collapsed --rules nonsense
refused 2 "bad.rules, line 1: a pattern is missing" known.collapsed --rules ./bad.rules
refused 2 "circle" known.collapsed --rules ./round.rules
refused 2 "there is no subsystem 'nothing'" known.collapsed --drill nothing
refused 2 "from 1 to" known.collapsed --top 0
refused 2 "bytes or blocks" known.collapsed --weight stones
refused 2 "takes text or memtracer" known.collapsed --format pdf
refused 2 "takes a recording" known.collapsed --format memtracer
refused 2 "--html of what?" --html page.html
refused 2 "--search of what?" --search arena
refused 2 "--lifetime of what?" --lifetime only_leaked
assert_status 2 "$COLLECTOR" analyze . >out.txt 2>err.txt

# ---- the rules that suit what was recorded ----
"$AGENT" run --quiet --output c.heapcast -- sort /etc/passwd >sort.out
"$AGENT" run --quiet --output cxx.heapcast -- "$TARGETS/cxx" >cxx.out || true # it ends with 3
chosen() { # EXPECTED ARGUMENT...
	analyze "${@:2}" --json >chosen.json
	assert_eq "rules of analyze ${*:2}" "$1" "$(grep -oE '"rules":"[a-z]+"' chosen.json | cut -d'"' -f4)"
}
chosen general c.heapcast
chosen cxx cxx.heapcast
chosen clickhouse cxx.heapcast --rules clickhouse
# Python's say what the program did, not that an interpreter ran it.
"$AGENT" run --quiet --output python.heapcast -- /usr/bin/python3 -c 'import json, re
json.loads(json.dumps([{"n": i, "t": "t" * 40} for i in range(20000)]))' >python.out
chosen python python.heapcast
analyze python.heapcast >out.txt
assert_contains "analyze of Python" out.txt "JSON" "Imports"
sed -n '/^Why:/,/^Where:/p' out.txt >why.txt
! grep -qE "(Py_BytesMain|_start)$" why.txt || fail "the reasons are what only leads to them: $(cat why.txt)"
"$COLLECTOR" export --format collapsed --output c.collapsed c.heapcast
chosen general c.collapsed
# The page says how it was made, as it was typed.
"$BUILD/bin/heapcast" analyze cxx.heapcast --html page.html >html.out
assert_contains "the page's end" page.html "heapcast analyze cxx.heapcast</footer>"
