#!/bin/bash
# ctest: LABELS full
# Heap profiles of addresses: jeprof reads jemalloc's form and google-pprof that of gperftools. Both look the addresses
# up in the program's files. Their totals and the sums by function are the collector's. So is what jeprof says of one
# thread.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
need jeprof google-pprof nm addr2line objdump c++filt
record_branches
export_as jemalloc small.jeprof small.heapcast
export_as gperftools small.heap small.heapcast

# What a reader prints of one type, asked once: ask READER TYPE FILE; then total READER TYPE, and of_function READER TYPE NAME: what it
# has itself.
ask_reader() {
	local bytes=--show_bytes
	[[ $2 == *_space ]] || bytes=
	"$1" --text $bytes "--$2" "$PROGRAM" "$3" >"$1.$2" 2>"$T/reader.err" || fail "$1: $(tail -n 3 "$T/reader.err")"
}
total() {
	sed -n 's/^Total: \([0-9]*\).*/\1/p' "$1.$2"
}
of_function() {
	awk -v name="$3" '$6 == name { print $1 }' "$1.$2"
}

for reader in "jeprof small.jeprof" "google-pprof small.heap"; do
	# shellcheck disable=SC2086
	set -- $reader
	for type in inuse_space inuse_objects alloc_space alloc_objects; do ask_reader "$1" "$type" "$2"; done
	assert_eq "$1: in use" "$(said leaked bytes)" "$(total "$1" inuse_space)"
	assert_eq "$1: blocks in use" "$(said leaked blocks)" "$(total "$1" inuse_objects)"
	assert_eq "$1: allocated" "$(said allocated bytes)" "$(total "$1" alloc_space)"
	assert_eq "$1: blocks allocated" "$(said allocated blocks)" "$(total "$1" alloc_objects)"
	assert_eq "$1: keep_large" 1000000 "$(of_function "$1" inuse_space keep_large)"
	assert_eq "$1: keep_small" 100000 "$(of_function "$1" inuse_space keep_small)"
	assert_eq "$1: work" $((50 * 4096)) "$(of_function "$1" inuse_space work)"
	assert_eq "$1: swell" 10000000 "$(of_function "$1" alloc_space swell)"
done

# One thread's, of jemalloc's form.
worker=$("$COLLECTOR" report --json --thread-name worker small.heapcast | python3 -c 'import json, sys
print(json.load(sys.stdin)["allocated"]["bytes"])')
number=$(sed '1,/^@/d' small.jeprof | awk '/^@/ { next } /^  t[1-9]/ { split($5, b, "]"); sum[$1] += b[1] } END { for (t in sum) print t, sum[t] }' |
	sed -n "s/^t\([0-9]*\): $worker\$/\1/p")
[ -n "$number" ] || fail "no thread has the worker's $worker bytes: $(grep '^  t' small.jeprof | head)"

# ---- at the peak ----
export_as jemalloc peak.jeprof --value peak small.heapcast
export_as gperftools peak.heap --value peak small.heapcast
ask_reader jeprof inuse_space peak.jeprof
ask_reader google-pprof inuse_space peak.heap
assert_eq "jeprof: the peak" "$(said peak bytes)" "$(total jeprof inuse_space)"
assert_eq "google-pprof: the peak" "$(said peak bytes)" "$(total google-pprof inuse_space)"
assert_eq "jeprof: swell at the peak" 10000000 "$(of_function jeprof inuse_space swell)"
