#!/bin/bash
# A program's own wrappers, which no list names, are hidden wherever stacks are folded or call sites are chosen. Sums
# stay the same. --hide none shows the wrappers, and formats that other tools fold always have them.
. "$(dirname "$0")/lib.sh"
need python3 cc curl
cat >"$T/program.c" <<'C'
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void *take_raw(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
__attribute__((noinline)) void *take(size_t n) { void *p = take_raw(n); memset(p, 1, n); return p; }
__attribute__((noinline)) void *grow(void *old, size_t n) { void *p = realloc(old, n); if (!p) abort(); return p; }
#define USER(n) __attribute__((noinline)) void *user_##n(void) { void *p = take(100 + n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
USER(1) USER(2) USER(3) USER(4) USER(5) USER(6) USER(7) USER(8) USER(9)
#define GROWER(n) __attribute__((noinline)) void *grower_##n(void) { void *p = grow(user_##n(), 500 + n); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
GROWER(1) GROWER(2) GROWER(3)
__attribute__((noinline)) void *alone(void) { void *p = malloc(4000); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
int main(void)
{
	user_1(), user_2(), user_3(), user_4(), user_5(), user_6(), user_7(), user_8(), user_9();
	grower_1(), grower_2(), grower_3(), alone();
	return 0;
}
C
cc -O1 -g -fno-optimize-sibling-calls -o "$T/program" "$T/program.c" || fail "the compiler failed"
cd "$T" || exit 1
"$AGENT" run --output "$T/one.heapcast" -- "$T/program" 2>"$T/run.err" || { cat "$T/run.err" >&3; fail "the recording failed"; }
ask summary "$T/one.heapcast" >"$T/summary" # what `heapcast run` ends with
assert_contains "the answer of run" "$T/summary" "Hidden: take, take_raw, grow"

for hide in auto rules none; do
	ask top "$T/one.heapcast" --json --count 100 --hide $hide >"$T/top-$hide.json"
	ask tree "$T/one.heapcast" --json --hide $hide >"$T/tree-$hide.json"
done
ask top "$T/one.heapcast" --json --count 100 >"$T/top.json"
ask leaks "$T/one.heapcast" --json --count 100 --suppress none >"$T/leaks.json"
ask report "$T/one.heapcast" --json --count 100 >"$T/report.json"
ask sql "$T/one.heapcast" "select distinct function from allocations" --json >"$T/sql.json"
ask diff --base "$T/one.heapcast@0%" "$T/one.heapcast" --json --count 100 >"$T/diff.json"
for format in collapsed speedscope; do
	ask export "$T/one.heapcast" --format $format >"$T/$format"
	ask export "$T/one.heapcast" --format $format --hide none >"$T/$format-none"
done
ask export "$T/one.heapcast" --format massif >"$T/massif"
ask flamegraph "$T/one.heapcast" --output "$T/flame.svg"
"$COLLECTOR" serve --http 127.0.0.1:18099 "$T/one.heapcast" >"$T/serve.out" 2>"$T/serve.err" &
wait_for 10 "collector serve" grep -q Serving "$T/serve.out"
rest=http://127.0.0.1:18099
id=$(curl -s $rest/list | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
for hide in auto rules none; do
	curl -sf "$rest/data/$id/hidden?hide=$hide" >"$T/rest-$hide.json" || fail "the REST API says nothing of what is hidden"
done
python3 - "$T" <<'PYTHON' || fail "see above"
import json, sys
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
HIDDEN = {"take", "take_raw", "grow"}
users = {f"user_{n}" for n in range(1, 10)} | {f"grower_{n}" for n in range(1, 4)} | {"alone"}
own = lambda functions: {f for f in functions if f in HIDDEN | users}
for name in ("top", "top-auto", "leaks"):
    sites = load(name).get("groups") or load(name)["sites"]
    assert own(s["function"] for s in sites) == (users if name != "leaks" else own(s["function"] for s in sites) - HIDDEN), name
hidden = {h["function"]: h for h in load("top")["hidden"]}
assert HIDDEN <= set(hidden) and all(hidden[f]["is_wrapper"] for f in HIDDEN), hidden
assert hidden["take"]["backtraces"] == 12, hidden # nine users, three of which the growers call, too
assert "hidden" in load("report") and "hidden" in load("leaks") and load("top-none")["hidden"] == []
for hide in ("auto", "rules", "none"):
    rest = load("rest-" + hide)
    assert rest["hidden"] == load("top-" + hide)["hidden"] and rest["hidden_count"] == len(rest["hidden"]), (hide, rest)
for name in ("top-rules", "top-none"):
    assert own(s["function"] for s in load(name)["groups"]) == {"take_raw", "grow", "alone"}, name
totals = {json.dumps(load(f"top-{hide}")["total"]) for hide in ("auto", "rules", "none")}
assert len(totals) == 1, totals
sums = [sum(s["value"]["bytes"] for s in load(f"top-{hide}")["groups"]) for hide in ("auto", "rules", "none")]
assert len(set(sums)) == 1, sums
for hide in ("auto", "rules", "none"):
    frames = load(f"tree-{hide}")["frames"]
    assert bool(HIDDEN & {f["function"] for f in frames}) == (hide != "auto"), hide
    assert sum(f["self_bytes"] for f in frames) == load(f"tree-{hide}")["bytes"] == load("tree-none")["bytes"]
assert own(r["function"] for r in load("sql")["answers"][0]) == users, load("sql")
assert not HIDDEN & {e["function"] for e in load("diff")["groups"]}
total = lambda name: sum(int(line.rsplit(" ", 1)[1]) for line in open(f"{T}/{name}"))
assert total("collapsed") == total("collapsed-none") > 0
for name in ("collapsed", "speedscope", "flame.svg"):
    assert not any(f in open(f"{T}/{name}").read() for f in ("take_raw", "grow;", '"grow"', ">take")), name
for name in ("collapsed-none", "speedscope-none", "massif"):
    assert "take_raw" in open(f"{T}/{name}").read(), name
PYTHON

status=0
"$COLLECTOR" top "$T/one.heapcast" --hide some >"$T/out" 2>"$T/err" || status=$?
assert_eq "collector top --hide some" 2 "$status"
assert_contains "collector top --hide some" "$T/err" "auto, rules or none"
