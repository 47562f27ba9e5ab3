#!/bin/bash
# Programs whose segments share pages of the file, as lld lays them out. Each mapping of a small program begins at the
# file's first byte. That is so for larger ones where pages have 16 or 64 KiB (tests/machines/attach.sh). They are found
# in the maps: their functions have names.
. "$(dirname "$0")/lib-attach.sh"
ROUNDS=50
[ -x "$TARGETS/attached_lld" ] || skip "there is no ld.lld here"

named() { # FILE
	assert_eq "lost events of $1" 0 "$(ledger_value "$1" lost)"
	# The agent walks the first ones, and gets to some too late on a busy machine: the kernel does not know the program yet.
	cut=$(sql "$1" 'select count(*) from allocations where depth < 3')
	[ "$cut" -le $((21 * ROUNDS / 20)) ] || fail "$cut stacks of $1 were cut"
	"$COLLECTOR" top --by backtrace --count 1000 --symbols "$TARGETS" "$1" >top.txt
	assert_contains "stacks of $1" top.txt "by deep" "by work" "by main" "_start"
}

for layout in lld lld_64k lld_apart; do
	rm -f go
	"$TARGETS/attached_$layout" go 1 $ROUNDS &
	target=$!
	wait_for 10 "the program to be loaded" grep -q "/attached_$layout" /proc/$target/maps
	if [ $layout != lld_apart ]; then
		assert_eq "where code is mapped from" 00000000 "$(awk -v name=attached_$layout '$NF ~ name && $2 ~ /x/ { print $3 }' /proc/$target/maps)"
	fi
	attach -p $target --output $layout.heapcast
	touch go
	status=0
	wait $target || status=$?
	assert_eq "exit status of the program" 7 $status
	attached_ended
	named $layout.heapcast
	assert_eq "events of $layout" $((21 * 2 * ROUNDS)) "$(ledger_value $layout.heapcast produced)"
done
