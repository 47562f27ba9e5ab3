#!/bin/bash
# ctest: LABELS full
# Two runs of a stripped program under heaptrack, whose addresses differ (ASLR), as streams. Their places are the same:
# those in the files, as our own recorder has them. Debug information that comes later names them. So nothing differs
# between the runs, and if one run does more, only that differs. Where the files are gone, places count from a page, the
# same in both. What comes through a pipe is read once, and the importer says so.
. "$(dirname "$0")/lib.sh"
need heaptrack gcc strip objcopy zstd
[ "$(cat /proc/sys/kernel/randomize_va_space)" = 2 ] || skip "addresses are not random here"

cat >lib.c <<'C'
#include <stdlib.h>
void *kept[4000];
static __attribute__((noinline)) void *first(int i) { return kept[i] = malloc(1000); }
static __attribute__((noinline)) void *second(int i) { return kept[1000 + i] = malloc(500); }
static __attribute__((noinline)) void *third(int i) { return kept[3000 + i] = malloc(50); }
void exported(int i, int more) { kept[2000 + i] = malloc(100); first(i); second(i); if (more) third(i); }
C
cat >main.c <<'C'
#include <stdlib.h>
void exported(int, int);
static __attribute__((noinline)) void *own(int i) { return malloc(10 + i % 2); }
int main(int argc, char **argv) { (void)argv; for (int i = 0; i < 1000; i++) { exported(i, argc > 1); own(i); } return 0; }
C
gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -fPIC -shared -Wl,--build-id lib.c -o full.so
strip -o libx.so full.so
gcc -O1 -fno-builtin -fno-optimize-sibling-calls -Wl,--build-id main.c -o main "$T/libx.so"
strip main
for run in one two; do heaptrack -o "$T/$run" ./main >heaptrack.out 2>&1 || fail "heaptrack: $(tail -n 3 heaptrack.out)"; done
heaptrack -o "$T/more" ./main more >heaptrack.out 2>&1 || fail "heaptrack: $(tail -n 3 heaptrack.out)"
[ -e one.zst ] || skip "heaptrack here does not write zstd"
"$AGENT" run --quiet --output ours.heapcast -- ./main

imports() { # NAME...
	local name
	for name; do
		rm -f "$name.heapcast"
		"$COLLECTOR" import --output "$name.heapcast" "$name.zst" >"$name.says"
	done
}
stacks() { # FILE: of the program itself
	"$COLLECTOR" export --format collapsed --value leaked "$@" | grep exported
}
differs() { # FILE FILE
	"$COLLECTOR" diff --by backtrace --value leaked --json --base "$1" "$2" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["added_count"], d["removed_count"], d["changed_count"], d["bytes"])'
}
imports one two more
addresses() { zstd -dcq "$1" | sed -n 's/^i \([0-9a-f]*\) .*/\1/p' | sort; }
cmp -s <(addresses one.zst) <(addresses two.zst) && skip "both runs had the same addresses"
assert_eq "two runs" "0 0 0 0" "$(differs one.heapcast two.heapcast)"
cmp <(stacks ours.heapcast | sed 's/^.*__libc_start_main_impl;//') <(stacks one.heapcast | sed 's/^.*__libc_start_main_impl;//') ||
	fail "other places than ours"
assert_eq "one that does more" "1 0 0 50000" "$(differs one.heapcast more.heapcast)"

# Symbols that are here later.
mkdir symbols
objcopy --only-keep-debug full.so symbols/libx.debug
stacks --symbols symbols one.heapcast >named
assert_contains "named later" named "exported;first 1000000" "exported;second 500000"

# Through a pipe.
zstd -dcq one.zst | "$COLLECTOR" import --output piped.heapcast /dev/stdin >piped.says
assert_contains "a pipe" <(tr -s ' \n' ' ' <piped.says) "can be read but once"
assert_eq "sums of a pipe" "$("$COLLECTOR" top --json --count 1 one.heapcast | sed 's/"groups".*//; s/.*"total"/"total"/')" \
	"$("$COLLECTOR" top --json --count 1 piped.heapcast | sed 's/"groups".*//; s/.*"total"/"total"/')"

# Without the files.
rm main libx.so
imports one two more
assert_contains "unknown" <(tr -s ' \n' ' ' <one.says) "are counted from the page of the first one seen"
assert_eq "two runs, without the files" "0 0 0 0" "$(differs one.heapcast two.heapcast)"
assert_eq "one that does more, without the files" "1 0 0 50000" "$(differs one.heapcast more.heapcast)"
