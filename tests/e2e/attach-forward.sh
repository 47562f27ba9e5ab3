#!/bin/bash
# Allocators that hand on to the one behind them, by calling or by jumping: the outer call is the program's, births and frees alike;
# sampled, too.
. "$(dirname "$0")/lib-attach.sh"
ROUNDS=400

behind() { # NAME LIBRARY FILE OPTION...
	local name=$1 library=$2 file=$3 status=0
	shift 3
	rm -f go
	LD_PRELOAD=$library "$TARGETS/forwarded" go $ROUNDS 2>target.err &
	target=$!
	wait_for 10 "the library to be loaded" grep -q "/forwarded" /proc/$target/maps
	wait_for 10 "the library to be loaded" grep -q "${library##*/}" /proc/$target/maps
	attach -p $target --output "$file" "$@"
	touch go
	wait $target || status=$?
	assert_eq "exit status behind $name" 7 $status
	attached_ended
	assert_eq "lost events behind $name" 0 "$(ledger_value "$file" lost)"
	assert_eq "frees of unrecorded blocks behind $name" 0 "$(ledger_value "$file" orphan_frees)"
}

for library in "$TARGETS/forward.so" "$TARGETS/forward_jumps.so" "$TARGETS/forward_lld.so" "$(ls /lib/*-linux-gnu*/libmemusage.so 2>/dev/null | head -n 1)"; do
	[ -e "$library" ] || continue
	name=${library##*/}
	echo "$name"
	behind $name "$library" $name.heapcast
	# 100, of which 200 are made, and 90; memusage's own take none.
	assert_eq "events behind $name" $((5 * ROUNDS)) "$(ledger_value $name.heapcast produced)"
	assert_eq "blocks behind $name" "90,$ROUNDS,0
100,$ROUNDS,0
200,$ROUNDS,0" "$(sql $name.heapcast 'select size, count(*), sum(leaked) from allocations group by 1 order by 1')"
	behind $name "$library" $name-sampled.heapcast --mode sample=1K
	assert_eq "sampled events behind $name" $((5 * ROUNDS)) "$(ledger_value $name-sampled.heapcast produced)"
done
