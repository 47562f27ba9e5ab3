#!/bin/bash
# A recording that was packed has its names where the program and its debug information are gone. Every frame is as it
# was there: function, file, line and what is inlined; and so is every figure. What nobody could name stays to be named
# later. It packs again, from a store, to a pipe, and so does what is imported. An existing file is not overwritten.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need gcc objcopy strip

cp "$PROGRAM" program
"$AGENT" run --quiet --output plain.heapcast -- ./program
rows() { # FILE: all but what a packed recording does not have
	"$COLLECTOR" export --format json --with-stacks "$@" | sed 's/"raw_function":"[^"]*",//g; s/"column":[0-9]*,//g'
}
rows plain.heapcast >before
grep -q '"is_inline":true' before || fail "nothing is inlined"
"$COLLECTOR" pack -o packed.heapcast plain.heapcast >said
grep -qE '^([0-9]+) of \1 places have names; .* became ' said || fail "not all is named: $(cat said)"
"$COLLECTOR" pack --json -o - plain.heapcast 2>said.json | cmp - packed.heapcast || fail "to a pipe it is another one"
python3 -c 'import json; r = json.load(open("said.json")); assert r["places"] == r["named"] > 10 and r["bytes_after"] > r["bytes_before"], r'
mv program away
rows packed.heapcast >after
cmp before after || fail "frames differ: $(diff before after | head -n 4 | cut -c1-300)"
rows plain.heapcast | cmp -s - before && fail "the program is not gone"
"$COLLECTOR" ledger packed.heapcast >ledger || fail "ledger: $(tail -n 1 ledger)"
sums() {
	"$COLLECTOR" report --json "$1" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print([r[k] for k in ("allocated", "leaked", "temporary", "peak", "allocations", "frees", "threads", "distinct_backtraces")])'
}
assert_eq "figures" "$(sums plain.heapcast)" "$(sums packed.heapcast)"
"$COLLECTOR" pack -o twice.heapcast packed.heapcast >said
rows twice.heapcast | cmp - before || fail "packed twice"
"$COLLECTOR" strip --threshold all -o stripped.heapcast packed.heapcast >said
assert_contains "stripped" <("$COLLECTOR" top stripped.heapcast) "swell"

# ---- what nobody could name ----
cat >lib.c <<'C'
#include <stdlib.h>
void *kept[2000];
static __attribute__((noinline)) void *hidden(int i) { return kept[i] = malloc(1000); }
void exported(int i) { kept[1000 + i] = malloc(100); hidden(i); }
C
cat >main.c <<'C'
void exported(int);
int main(void) { for (int i = 0; i < 1000; i++) exported(i); return 0; }
C
gcc -g -O1 -fno-optimize-sibling-calls -fPIC -shared -Wl,--build-id lib.c -o full.so
strip -o libx.so full.so
gcc -g -O1 main.c -o main ./libx.so
"$AGENT" run --quiet --output partly.heapcast -- ./main
"$COLLECTOR" pack -o partly.packed partly.heapcast >said
rm main libx.so
"$COLLECTOR" export --format collapsed partly.packed >stacks
assert_contains "a place that has no name" stacks "main;exported;[libx.so+0x"
mkdir symbols
objcopy --only-keep-debug full.so symbols/libx.debug
"$COLLECTOR" export --format collapsed --symbols symbols partly.packed >stacks
assert_contains "named later" stacks "main;exported;hidden 1000000"
"$COLLECTOR" pack --symbols symbols -o wholly.packed partly.packed >said
"$COLLECTOR" export --format collapsed wholly.packed >stacks
assert_contains "packed once more" stacks "main;exported;hidden 1000000"

# ---- others ----
"$COLLECTOR" export --format collapsed packed.heapcast >stacks
"$COLLECTOR" import --data "$T/data" stacks >said
"$COLLECTOR" pack --data "$T/data" -o imported.packed last >said
"$COLLECTOR" export --format collapsed imported.packed | cmp - stacks || fail "what is imported"
# Of a heaptrack file whose files are gone: the places are no offsets in files that may come to lie there.
printf 'v 10400 1\nX app\nI 1000 10\ns /bin/sh\ni 55550000a040 1\nt 1 0\na 40 1\n+ 0\n' >heaptrack
"$COLLECTOR" import --output nameless.heapcast heaptrack >said
"$COLLECTOR" export --format collapsed nameless.heapcast >stacks
"$COLLECTOR" pack -o nameless.packed nameless.heapcast >said
"$COLLECTOR" export --format collapsed nameless.packed | cmp - stacks || fail "what nobody can name"
refused() { # STATUS TEXT ARG...
	local status=$1 text=$2
	shift 2
	assert_status "$status" "$COLLECTOR" pack "$@" >/dev/null 2>err.txt
	assert_contains "pack $*" err.txt "$text"
}
cp packed.heapcast kept
refused 2 "the file to write is missing: --output FILE" packed.heapcast
refused 2 "is there already" -o packed.heapcast plain.heapcast
refused 2 "is what is read" --force -o packed.heapcast packed.heapcast
cmp kept packed.heapcast || fail "what was there was written to"
"$COLLECTOR" pack --force -o packed.heapcast plain.heapcast >said
refused 2 "cannot open" -o none nowhere.heapcast
[ ! -e none ] || fail "a file of nothing is left"
