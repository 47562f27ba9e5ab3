#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# Each export that has an importer, read again: it has the same sums, and the same by backtrace. The recordings are of a
# program, of a stripped library whose places nobody can name, and of samples (whose estimates the file has). Files are
# plain, and packed by gzip and zstd. A profile that brings its names along, as jeprof and google-pprof read it, is
# imported when the program is gone.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need gcc strip gzip zstd google-pprof jeprof
FORMATS="collapsed heaptrack jemalloc gperftools pprof"

"$AGENT" run --quiet --output small.heapcast -- "$PROGRAM"
"$AGENT" run --quiet --mode sample=16K --output sampled.heapcast -- "$PROGRAM"
cat >lib.c <<'C'
#include <stdlib.h>
void *kept[3000];
static __attribute__((noinline)) void *first(int i) { return kept[i] = malloc(1000); }
static __attribute__((noinline)) void *second(int i) { return kept[1000 + i] = malloc(500); }
void exported(int i) { kept[2000 + i] = malloc(100); first(i); second(i); }
C
cat >main.c <<'C'
void exported(int);
int main(void) { for (int i = 0; i < 1000; i++) exported(i); return 0; }
C
gcc -g -O1 -fno-optimize-sibling-calls -fPIC -shared -Wl,--build-id lib.c -o libx.so
strip libx.so
gcc -g -O1 main.c -o main ./libx.so
"$AGENT" run --quiet --output stripped.heapcast -- ./main

sums() { # FILE: live bytes and blocks, bytes and blocks allocated
	"$COLLECTOR" report --json "$1" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(*(r[what][unit] for what in ("leaked", "allocated") for unit in ("bytes", "blocks")))'
}
stacks() { # FILE VALUE
	"$COLLECTOR" export --format collapsed --value "$2" "$1"
}
again() { # NAME FORMAT: imported once more from what was exported
	export_as "$2" "$1.$2" --value "${3:-leaked}" "$1.heapcast"
	"$COLLECTOR" import --output "$1.$2.again" "$1.$2" >says
	assert_contains "$1 as $2" says ": $2"
	"$COLLECTOR" ledger "$1.$2.again" >ledger || fail "$1 as $2: $(tail -n 1 ledger)"
}
for name in small stripped sampled; do
	for format in $FORMATS; do
		again "$name" "$format" "$([ "$format" = heaptrack ] && echo allocated)"
		what=all
		[ "$name" != sampled ] || what=bytes # blocks of estimates are rounded where they are told
		[ "$format" != collapsed ] || what=live # has one number
		case $what in
		all) assert_eq "sums of $name as $format" "$(sums "$name.heapcast")" "$(sums "$name.$format.again")" ;;
		live) assert_eq "bytes of $name as $format" "$(sums "$name.heapcast" | cut -d' ' -f1)" "$(sums "$name.$format.again" | cut -d' ' -f1)" ;;
		bytes) assert_eq "bytes of $name as $format" "$(sums "$name.heapcast" | cut -d' ' -f1,3)" "$(sums "$name.$format.again" | cut -d' ' -f1,3)" ;;
		esac
		cmp <(stacks "$name.heapcast" leaked) <(stacks "$name.$format.again" leaked) || fail "stacks of $name as $format"
		[ "$name" = stripped ] || continue
		gzip -dcf "$name.$format" >plain # pprof's is packed already
		gzip -c plain >packed.gz
		zstd -qfc plain >packed.zst
		for packed in plain packed.gz packed.zst; do
			rm -f packed.heapcast
			"$COLLECTOR" import --output packed.heapcast $packed >says
			assert_eq "$packed of $name as $format" "$(sums "$name.$format.again")" "$(sums packed.heapcast)"
		done
	done
done
assert_contains "threads of jemalloc's" <("$COLLECTOR" sql --csv small.jemalloc.again "select name from threads") worker
assert_contains "places that have no name" <(stacks stripped.pprof.again leaked) "exported;[libx.so+0x"

# ---- names in front: what jeprof --raw, google-pprof --raw and ClickHouse write; the program itself is gone ----
cp "$PROGRAM" program
"$AGENT" run --quiet --output gone.heapcast -- ./program
export_as jemalloc gone.jemalloc gone.heapcast
export_as gperftools gone.gperftools gone.heapcast
google-pprof --raw ./program gone.gperftools >gone.raw 2>raw.err || fail "google-pprof: $(tail -n 3 raw.err)"
grep -aq '^--- profile' gone.raw || fail "no words: $(grep -a '^---' gone.raw)"
# As of the sums: an address is one below where the call returns to, but for the innermost one; names from the outermost inlined on.
segment=$(readelf -lW program | awk '$1 == "LOAD" && / R E / { print $3; exit }')
python3 - "$segment" <<'PYTHON'
import re, subprocess, sys
segment = int(sys.argv[1], 16) & ~4095
for form in ("jemalloc", "gperftools"):
    text = open("gone." + form).read()
    start, end = (int(a, 16) for a in re.search(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/program$", text, re.M).groups())
    calls = {int(a, 16) - (i > 0): int(a, 16) - 1 for l in text.splitlines() if "@ 0x" in l for i, a in enumerate(l.split("@ ")[1].split())}
    addresses = [a for a in calls if start <= a < end]
    said = subprocess.run(["addr2line", "-afie", "program", *(hex(calls[a] - start + segment) for a in addresses)], capture_output=True, text=True).stdout
    names = ["--".join(reversed(part.strip().split("\n")[1::2])) for part in re.split("^0x", said, flags=re.M)[1:]]
    assert len(names) == len(addresses) and any("--" in n for n in names), said
    with open("gone.%s.sym" % form, "w") as file:
        file.write("--- symbol\nbinary=/opt/program\n" + "".join("0x%016x %s\n" % it for it in zip(addresses, names)) + "---\n--- heap\n" + text)
PYTHON
stacks gone.heapcast leaked | sed -n 's/.*;main;/main;/p' >want
[ -s want ] || fail "nothing to compare"
want=$(sums gone.heapcast)
rm program
for file in gone.jemalloc.sym gone.gperftools.sym gone.raw; do
	"$COLLECTOR" import --output $file.heapcast $file >says
	stacks $file.heapcast leaked | sed -n 's/.*;main;/main;/p' >got
	# google-pprof's names have no inlined functions.
	[ $file = gone.raw ] || cmp want got || fail "$file: $(diff want got)"
	assert_contains "$file" got "main;grow;keep_large 1000000" "main;grow;keep_small 100000"
done
assert_eq "sums, jemalloc" "$want" "$(sums gone.jemalloc.sym.heapcast)"
assert_eq "sums, gperftools" "$want" "$(sums gone.gperftools.sym.heapcast)"
assert_eq "bytes, words" "${want%% *}" "$(sums gone.raw.heapcast | cut -d' ' -f1)"
assert_eq "jeprof reads the same" "keep_large" "$(jeprof --text --show_bytes gone.jemalloc.sym 2>/dev/null | awk '$1 == 1000000 { print $6 }')"
assert_contains "the program" <("$COLLECTOR" report --json gone.jemalloc.sym.heapcast) "\"/opt/program\""

gzip gone.raw
rm packed.heapcast
"$COLLECTOR" import --output packed.heapcast gone.raw.gz >says
assert_eq "words, packed" "$(sums gone.raw.heapcast)" "$(sums packed.heapcast)"
gunzip gone.raw.gz

# ---- refused ----
says() { # TEXT FILE
	assert_status 2 "$COLLECTOR" import --output none.heapcast "$2" 2>says.err
	assert_contains "$2" says.err "$1"
}
head -n 5 gone.jemalloc.sym >cut.sym
says "ends within its names" cut.sym
head -c -60 gone.raw >cut.raw
says "is damaged or cut" cut.raw
printf -- '--- symbol\n0xnothing main\n---\n' >wrong.sym
says "line 2: no address with its names" wrong.sym
printf -- '--- symbol\n---\n--- heap\nnothing\n' >none.sym
says "line 4: no head of a heap profile" none.sym
