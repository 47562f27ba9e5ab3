#!/bin/bash
# Calls that end otherwise than by returning: an operator new that throws, a malloc that a signal's handler jumps out
# of, a thread that is ended in one. What comes afterwards is still recorded, block by block, and what was left is
# counted as lost.
. "$(dirname "$0")/lib-attach.sh"
ROUNDS=200

# Attaches to targets/left, behind this library.
leave() { # LIBRARY HOW FILE
	local library=$1 how=$2 file=$3 status=0
	rm -f go
	LD_PRELOAD=$library "$TARGETS/left" go "$how" $ROUNDS 2>target.err &
	target=$!
	wait_for 10 "the library to be loaded" grep -q "${library##*/}" /proc/$target/maps
	attach -p $target --output "$file"
	touch go
	wait $target || status=$?
	assert_eq "exit status of the program" 7 $status
	attached_ended
}

# Every block of the rounds was born and freed: 10 of 64 bytes and one of 48.
whole() { # FILE
	assert_eq "blocks that follow, of $1" "48,$ROUNDS,0
64,$((10 * ROUNDS)),0" "$(sql "$1" 'select size, count(*), sum(leaked) from allocations where size in (48, 64) group by 1 order by 1')"
	assert_eq "inferred ends of $1" 0 "$(ledger_value "$1" inferred)"
}

library_of() {
	ldconfig -p | awk -v name="$1" '$1 == name { found = $NF } END { print found }'
}

for library in libtcmalloc_minimal.so.4 libjemalloc.so.2; do
	path=$(library_of $library)
	[ -n "$path" ] || continue
	echo "exceptions out of $library"
	leave "$path" throw $library.heapcast
	whole $library.heapcast
	assert_eq "lost events of $library" 0 "$(ledger_value $library.heapcast lost)"
done

echo "jumps out of malloc"
leave "$TARGETS/jump_alloc.so" jump jump.heapcast
whole jump.heapcast
# The handler may have jumped before a block was there, or behind that: nobody can tell.
assert_eq "lost events" $ROUNDS "$(ledger_value jump.heapcast lost)"
assert_eq "lost bytes: half of them asked for more than there can be" $((ROUNDS / 2 * (90000 / 16 * 16 + 7))) "$(ledger_value jump.heapcast lost_bytes)"

echo "threads that are ended in malloc"
ROUNDS=40 # as many threads have a place at a time
leave "$TARGETS/jump_alloc.so" end end.heapcast
whole end.heapcast
assert_eq "lost events" $ROUNDS "$(ledger_value end.heapcast lost)"
adds_up end.heapcast >ledger.txt
assert_contains "the account" ledger.txt "no result"
