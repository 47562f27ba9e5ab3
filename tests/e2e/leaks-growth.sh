#!/bin/bash
# Of a program that runs, what grows is suspect; what it built at its start and keeps is not, however
# large. `leaks --by` has the same columns and order as by call site. When the program has ended,
# both were never freed.
# ctest: TIMEOUT 60
. "$(dirname "$0")/lib.sh"
need cc python3

cat >"$T/grows.c" <<'END_OF_SOURCE'
#include <stdlib.h>
#include <unistd.h>
void *volatile sink;
volatile int times = 2;
__attribute__((noinline)) void *table(int size) { return malloc(size); }
__attribute__((noinline)) void *leak(int size) { return malloc(size); }
__attribute__((noinline)) void left(void) { sink = leak(200); }
__attribute__((noinline)) void right(void)
{
	for (int i = 0; i < times; i++) {
		sink = leak(100);
		if (i)
			free(sink);
	}
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		sink = table(100000);
	while (access("stop", F_OK)) {
		left();
		right();
		usleep(2000);
	}
	return 0;
}
END_OF_SOURCE
cd "$T"
cc -g -O1 -o grows grows.c
H=${COLLECTOR%/*}/heapcast
"$H" run -q -o grows.heapcast -- ./grows >/dev/null 2>&1 &
running=$!
long_enough() {
	"$COLLECTOR" leaks grows.heapcast --json 2>/dev/null | python3 -c 'import json, sys
leaks = json.load(sys.stdin)
sys.exit(leaks["total"]["blocks"] < 900)'
}
wait_for 30 "900 blocks in use" long_enough

for by in site function backtrace; do
	"$COLLECTOR" leaks grows.heapcast --by $by | tr -s ' \n' ' ' >"$by"
	assert_contains "by $by" "$by" "SUSPECT IN USE BLOCKS" "SUSPECT is what grows" "nothing new in the last" "of it from the last"
	"$COLLECTOR" leaks grows.heapcast --by $by --json >"$by.json"
	python3 - "$by.json" <<'PYTHON' || fail "leaks --by $by of a running program"
import json, sys
leaks = json.load(open(sys.argv[1]))
groups = leaks["groups"]
assert groups[-1]["function"] == "table" and groups[-1]["suspect_bytes"] == 0, groups[-1]
assert groups[-1]["value"]["bytes"] == 10000000 and groups[-1]["late"]["bytes"] == 0, groups[-1]
assert groups[0]["function"] == "leak" and groups[0]["suspect_bytes"] > 50000, groups[0]
assert 0 < leaks["late_since_ns"] < groups[-1]["age_max_ns"], leaks
PYTHON
done
# By backtrace each way is judged by its own blocks.
assert_eq "ways to leak()" "$(python3 -c 'import json
print(*[g["backtrace"][1]["function"] + ":" + str(g["whole_group_leaked"]) for g in json.load(open("backtrace.json"))["groups"]])')" \
	"left:True right:False main:True"

touch stop
wait "$running"
"$COLLECTOR" leaks grows.heapcast --by backtrace >ended
assert_contains "when it has ended" ended "SUSPECT NOT FREED  BLOCKS  BACKTRACE"
! grep -q "what grows" ended || fail "growth of a program that has ended"
assert_eq "the most suspect" "$(sed -n '/SUSPECT NOT/{n;p}' ended | tr -s ' ')" " 9.54 MiB 9.54 MiB 100 table"
assert_status 2 "$COLLECTOR" leaks grows.heapcast@50% 2>said
assert_contains "a moment" said "top grows.heapcast@50%"
