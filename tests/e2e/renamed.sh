#!/bin/bash
# A function that was renamed between two builds: diff names it, and --map of it makes it one.
. "$(dirname "$0")/lib.sh"
need cc python3
cat >"$T/parse.c" <<'SOURCE'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void *PARSE(size_t size) { return kept = malloc(size); }
__attribute__((noinline)) void *scan(size_t size) { return kept = malloc(size); }
__attribute__((noinline)) void header(void)
{
	for (int i = 0; i < HEADERS; i++)
		PARSE(100);
	scan(7);
}
__attribute__((noinline)) void body(void)
{
	for (int i = 0; i < 10; i++)
		PARSE(100);
}
int main(void)
{
	header();
	body();
	return 0;
}
SOURCE
cd "$T"
H=${COLLECTOR%/*}/heapcast
build() { # NAME FUNCTION HEADERS
	mkdir "$1"
	cc -g -O1 -DPARSE="$2" -DHEADERS="$3" -o "$1/program" parse.c
	"$H" run -q -o "$1.heapcast" -- "$1/program" >/dev/null
}
build old parse_old 40
build new parse_new 39
build other parse_new 4

"$COLLECTOR" diff --base old.heapcast new.heapcast >text
assert_contains "the hint" text "parse_old() went, parse_new() came with the same callers and 98 %" "    --map parse_old=parse_new" "gone: was"
$(sed -n "s/^ *--map /$(sed 's/[/&]/\\&/g' <<<"$COLLECTOR") diff --base old.heapcast new.heapcast --map /p" text) >mapped
assert_contains "with --map" mapped "added           0 B in 0, removed 0 B in 0" ", was 4.88 KiB"
! grep -q -e "--map" mapped || fail "a hint of what is mapped: $(cat mapped)"
"$COLLECTOR" diff --base old.heapcast --json new.heapcast | python3 -c 'import json, sys
(one,) = json.load(sys.stdin)["renamed"]
assert (one["base_function"], one["function"]) == ("parse_old", "parse_new"), one
assert one["base"] == {"bytes": 5000, "blocks": 50} and one["new"]["blocks"] == 49 and one["percent"] == 98, one'
# Of a flame graph, too, each frame is there once.
"$COLLECTOR" flamegraph --value leaked --base old.heapcast --output apart.svg new.heapcast >/dev/null
"$COLLECTOR" flamegraph --value leaked --base old.heapcast --map parse_old=parse_new --output one.svg new.heapcast >/dev/null
assert_eq "frames of parse_old" "$(grep -c '<title>parse_old' apart.svg)" 2
! grep '<title>parse_old' one.svg || fail "the flame graph still has parse_old"

# A third of the blocks for the same callers: it may be another function.
"$COLLECTOR" diff --base old.heapcast other.heapcast >text
! grep -q -e "--map" text || fail "a hint that is none: $(tail -n 3 text)"
