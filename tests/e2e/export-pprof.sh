#!/bin/bash
# The pprof export in Go's pprof. All four sample types have the collector's totals. Functions have the sums that the
# program is known to have made. Inlined functions and lines are there, threads are labels, and build ids are those of
# the files. A difference of two profiles is what has grown. What the collector could not name, pprof finds in the files
# by itself.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need go readelf awk
go tool pprof -h >/dev/null 2>"$T/pprof.err" || true
grep -q 'Output formats' "$T/pprof.err" || skip "go tool pprof is not there"
export HOME=$T PPROF_TMPDIR=$T GOFLAGS=-mod=mod GOTOOLCHAIN=local
record_branches
export_as pprof small.pb.gz small.heapcast

pprof() {
	go tool pprof -symbolize=none "$@" 2>"$T/pprof.err" || fail "go tool pprof $*: $(tail -n 3 "$T/pprof.err")"
}
# Of a sample type: what `pprof -top` says is the whole.
whole() {
	pprof -top -nodecount=10 "-unit=$1" "-sample_index=$2" "$3" | sed -n 's/.* of \([0-9]*\)B* total$/\1/p'
}
# What a function has itself, or with all that it calls.
of_function() {
	pprof -top -nodefraction=0 -nodecount=100000 -unit=B "-sample_index=$1" "$4" |
		awk -v name="$2" -v column="$3" '$6 == name { gsub("B", "", $column); print $column; found = 1 } END { if (!found) print 0 }'
}

assert_eq "alloc_space" "$(said allocated bytes)" "$(whole B alloc_space small.pb.gz)"
assert_eq "alloc_objects" "$(said allocated blocks)" "$(whole count alloc_objects small.pb.gz)"
assert_eq "inuse_space" "$(said leaked bytes)" "$(whole B inuse_space small.pb.gz)"
assert_eq "inuse_objects" "$(said leaked blocks)" "$(whole count inuse_objects small.pb.gz)"
assert_eq "what is shown first" "Type: inuse_space" "$(pprof -top small.pb.gz | grep ^Type)"

assert_eq "keep_large in use" 1000000 "$(of_function inuse_space keep_large 1 small.pb.gz)"
assert_eq "keep_small in use" 100000 "$(of_function inuse_space keep_small 1 small.pb.gz)"
assert_eq "swell in use" 0 "$(of_function inuse_space swell 1 small.pb.gz)"
assert_eq "swell allocated" 10000000 "$(of_function alloc_space swell 1 small.pb.gz)"
assert_eq "all of descend, which calls itself" 2560 "$(of_function alloc_space descend 4 small.pb.gz)"
assert_eq "inlined: itself" 64000 "$(of_function alloc_space make_one 1 small.pb.gz | head -n 1)"
assert_eq "and in its caller" 64000 "$(of_function alloc_space churn 4 small.pb.gz)"
pprof -top -lines -sample_index=alloc_space small.pb.gz >lines.txt
grep -qE ' swell .*/branches\.c:[0-9]+' lines.txt || fail "no lines: $(head -n 20 lines.txt)"

pprof -tags -unit=B -sample_index=inuse_space small.pb.gz >tags.txt
grep -q 'worker' tags.txt || fail "no thread: $(cat tags.txt)"
worker=$(pprof -top -unit=B -tagfocus=thread=worker -sample_index=inuse_space small.pb.gz |
	sed -n 's/.* accounting for \([0-9]*\)B.*/\1/p')
assert_eq "kept by the worker" $((50 * 4096)) "$worker"

build_id=$(readelf -n "$PROGRAM" | sed -n 's/.*Build ID: //p')
pprof -raw small.pb.gz >raw.txt
grep -qE "/e2e-branches $build_id \[FN\]" raw.txt || fail "no mapping with $build_id: $(sed -n '/^Mappings/,$p' raw.txt)"
sed -n '/^Mappings/,$p' raw.txt | sed -n 2p | grep -cF /e2e-branches || fail "the program is not the first mapping"

# The segment of code of each file, in its own addresses, and where in the file it begins: by page.
sed -n '/^Mappings/,$s|^[0-9]*: \(0x[0-9a-f]*\)/\(0x[0-9a-f]*\)/\(0x[0-9a-f]*\) \(/[^ ]*\) .*|\1 \2 \3 \4|p' raw.txt >mappings.txt
grep -q /e2e-branches mappings.txt || fail "no mapping was understood: $(sed -n '/^Mappings/,$p' raw.txt)"
while read -r start limit offset file; do
	[ -e "$file" ] || continue # the kernel's own
	read -r in_file address size < <(readelf -lW "$file" | awk '$1 == "LOAD" && / R E / { print $2, $3, $6; exit }')
	assert_eq "code of $file" "$((address & ~4095)) $(((address + size + 4095) & ~4095)) $((in_file & ~4095))" "$((start)) $((limit)) $((offset))"
done <mappings.txt
[ "$(awk '/e2e-branches/ { print $1 != $3 }' mappings.txt)" = 1 ] || fail "addresses of the program are offsets in it: one could stand for the other"

# An address is one below where the call returns to: within the call. (Above, a call that ends a function would be the next one's.)
sed -n '/^Locations/,/^Mappings/s/^ *[0-9]*: \(0x[0-9a-f]*\) M=1 .*/\1/p' raw.txt | while read -r address; do echo $((address + 1)); done | sort -u >addresses.txt
"$COLLECTOR" sql --csv small.heapcast "select distinct f.address - m.bias from frames f join modules m on m.path = f.module
	where m.path like '%/e2e-branches' and f.stack in (select stack from allocations)" | tr -d '\r' | sed 1d | sort -u >returns.txt
[ "$(wc -l <returns.txt)" -gt 5 ] || fail "the program has few frames: $(cat returns.txt)"
cmp addresses.txt returns.txt || fail "addresses: $(diff addresses.txt returns.txt)"

# ---- what --value and the filters say ----
export_as pprof peak.pb.gz --value peak small.heapcast
assert_eq "in use at the peak" "$(said peak bytes)" "$(whole B inuse_space peak.pb.gz)"
assert_eq "swell at the peak" 10000000 "$(of_function inuse_space swell 1 peak.pb.gz)"
export_as pprof temporary.pb.gz --value temporary small.heapcast
assert_eq "temporary" "$(said temporary bytes)" "$(whole B temporary_space temporary.pb.gz)"
export_as pprof large.pb.gz --size-min 100000 small.heapcast
assert_eq "large ones" 1000000 "$(whole B alloc_space large.pb.gz)"

# ---- a difference: by address, of the same files in two runs ----
export_as pprof grown.pb.gz grown.heapcast
pprof -top -nodefraction=0 -nodecount=100000 -unit=B -diff_base=small.pb.gz grown.pb.gz >diff.txt
grown() {
	awk -v name="$1" '$6 == name { gsub("B", "", $1); print $1 }' diff.txt
}
assert_eq "keep_large has grown" 1000000 "$(grown keep_large)"
assert_eq "keep_small has shrunk" -60000 "$(grown keep_small)"
assert_eq "keep_new is new" 210000 "$(grown keep_new)"

# ---- names that pprof finds itself, by build id, mapping and address, where the collector had no file ----
need addr2line
cp "$PROGRAM" "$T/moved"
"$AGENT" run --quiet --output "$T/moved.heapcast" -- "$T/moved"
mv "$T/moved" "$T/away"
export_as pprof unnamed.pb.gz moved.heapcast
grep -q swell <(pprof -raw unnamed.pb.gz) && fail "named without a file"
mv "$T/away" "$T/moved"
go tool pprof -symbolize=local -top -nodefraction=0 -unit=B -sample_index=alloc_space unnamed.pb.gz >found.txt 2>"$T/pprof.err"
assert_eq "what pprof found itself" 10000000 "$(awk '$6 == "swell" { gsub("B", "", $1); print $1 }' found.txt)"
