#!/bin/bash
# A program allocates in four threads, forks, executes and loads libraries. Meanwhile agents attach to it and detach
# again and again; some end in order, some are killed at any moment. The program comes to no harm, its code is what it
# was, and nothing is left in the kernel. (50 rounds with HEAPCAST_TEST_FULL=1.)
# ctest: LABELS full TIMEOUT 900
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib-attach.sh"
rounds=8
[ -z "$full" ] || rounds=50

# Of all files that it has code of now and at any time.
code_of() { # NAME
	local range start end
	range=$(grep -m1 "r-xp.*/$1" "/proc/$target/maps" | cut -d' ' -f1)
	start=$((0x${range%-*})) end=$((0x${range#*-}))
	dd if="/proc/$target/mem" bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) status=none | sha256sum
}

code() {
	code_of 'libc[.-]'
	code_of unharmed
}

# What the agent has in the kernel: lines "prog 12".
objects() {
	sed -n 's/^\(prog\|map\|link\)_id:[^0-9]*\([0-9]*\)$/\1 \2/p' /proc/"$agent_pid"/fdinfo/* 2>/dev/null | sort -u || true # some are closed meanwhile
}

is_gone() { # FILE OF OBJECTS
	local kind id
	while read -r kind id; do
		! bpftool $kind show id "$id" >/dev/null 2>&1 || return 1
	done <"$1"
}

is_as_it_was() {
	code >after && cmp -s before after
}

"$TARGETS/unharmed" stop "$TARGETS/plugin1.so" "$TARGETS/plugin2.so" >said &
target=$!
wait_for 10 "the program to run" grep -q 'r-xp.*libc[.-]' /proc/$target/maps
# Before any attaching, with all that is resolved lazily resolved.
sleep 0.3
code >before
for round in $(seq $rounds); do
	mode=full
	[ $((round % 3)) != 0 ] || mode=sample=4K
	if [ $((round % 2)) = 0 ]; then
		echo "round $round: let go"
		attach -p $target --mode $mode --output $round.heapcast --policy count
		objects >objects.$round
		[ -s objects.$round ] || fail "the agent has nothing in the kernel"
		kill -INT "$agent_pid"
		attached_ended
		ledger_value $round.heapcast produced >produced
		[ "$(cat produced)" -gt 0 ] || fail "nothing was recorded"
	else
		moment=$((RANDOM % 25 * 100))
		echo "round $round: killed after $moment ms"
		"$AGENT" attach -p $target --mode $mode --output $round.heapcast 2>attach.err &
		agent_pid=$!
		sleep $((moment / 1000)).$((moment % 1000 / 100))
		objects >objects.$round
		kill -KILL "$agent_pid"
		wait "$agent_pid" 2>/dev/null || true
	fi
	wait_for 20 "the kernel to take the probes out" is_as_it_was
	if command -v bpftool >/dev/null; then wait_for 20 "the kernel to let go of all" is_gone objects.$round; fi
	rm -f $round.heapcast*
done
touch stop
status=0
wait $target || status=$?
cat said >&3
assert_eq "exit status of the program ($(cat said))" 7 $status
