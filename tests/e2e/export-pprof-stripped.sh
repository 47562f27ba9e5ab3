#!/bin/bash
# ctest: LABELS full
# A stripped library in pprof: each place that nobody could name is a row of its own. The profile says of a file only
# what all its places have, so both readers look for the rest. Go's reader looks in the file at its path. pprof itself,
# which is built here from Debian's source where that is installed, also looks in $PPROF_BINARY_PATH, by build id.
. "$(dirname "$0")/lib.sh"
need go gcc strip readelf addr2line
go tool pprof -h >/dev/null 2>"$T/pprof.err" || true
grep -q 'Output formats' "$T/pprof.err" || skip "go tool pprof is not there"
export HOME=$T PPROF_TMPDIR=$T GOTOOLCHAIN=local

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
gcc -g -O1 -fno-optimize-sibling-calls -fPIC -shared -Wl,--build-id lib.c -o full.so
strip -o libx.so full.so
gcc -g -O1 main.c -o main ./libx.so
"$AGENT" run --quiet --output stripped.heapcast -- ./main
"$COLLECTOR" export --format pprof --output stripped.pb.gz stripped.heapcast

rows() { # COMMAND...: bytes and function of what allocated here
	"$@" -top -unit=B stripped.pb.gz 2>pprof.err | awk '/^ +[1-9][0-9]*B / { print $1, $6 }' || true
}
pprof() { go tool pprof "$@"; }
nameless=$(rows pprof -symbolize=none | sed 's/+0x[0-9a-f]*/+OFFSET/')
assert_eq "without names" "1000000B [libx.so+OFFSET] 500000B [libx.so+OFFSET] 100000B exported" "$(echo $nameless)"
named="1000000B first 500000B second 100000B exported"

# What every place of a file has: all functions of the program, not all lines (_start has none); not all functions of the library.
pprof -raw -symbolize=none stripped.pb.gz 2>/dev/null | sed -n '/^Mappings/,$p' >mappings
grep -qE '/main [0-9a-f]+ \[FN\]$' mappings || fail "of the program: $(cat mappings)"
grep -qE '/libx\.so [0-9a-f]+ *$' mappings || fail "of the library: $(cat mappings)"

assert_eq "by the file without symbols" "$(rows pprof -symbolize=none)" "$(rows pprof -symbolize=local)"
mv libx.so away.so
mkdir -p found
cp full.so found/libx.so
export PPROF_BINARY_PATH=$T/found
assert_eq "Go's knows no build ids" "$(rows pprof -symbolize=none)" "$(rows pprof -symbolize=local)"
grep -q "build-id mismatch" pprof.err || echo "Go's pprof has learnt build ids: docs/formats.md says otherwise" >&3
cp full.so libx.so
assert_eq "Go's, the file at its path" "$named" "$(echo $(rows pprof -symbolize=local))"
rm libx.so

# ---- pprof itself ----
SOURCE=/usr/share/gocode
[ -d $SOURCE/src/github.com/google/pprof ] || { echo "pprof itself is not tried: golang-github-google-pprof-dev is not installed" >&3; exit 0; }
GO111MODULE=off GOPATH=$SOURCE GOFLAGS= GOCACHE=$T/cache go build -o itself github.com/google/pprof 2>build.err || fail "building pprof: $(cat build.err)"
id=$(readelf -n full.so | sed -n 's/.*Build ID: //p')
for place in "libx.so" "$id/any.name" "${T#/}/libx.so"; do
	rm -rf found
	mkdir -p "found/$(dirname "$place")"
	cp full.so "found/$place"
	assert_eq "\$PPROF_BINARY_PATH/$place" "$named" "$(echo $(rows ./itself))"
done
rm -rf found
mkdir found
echo "int another;" >>lib.c
gcc -g -O1 -fno-optimize-sibling-calls -fPIC -shared -Wl,--build-id lib.c -o found/libx.so
assert_eq "another build" "$(rows pprof -symbolize=none)" "$(rows ./itself)"
