#!/bin/bash
# Programs that run already. Every call of the family is counted exactly. When the agent has detached or was killed,
# they are as they were. The last events of a program that was killed are there.
. "$(dirname "$0")/lib-attach.sh"

# One round of targets/attached: 21 events.
EVENTS=21
BYTES=$((64 + 60 + 100 + 128 + 200 + 330 + 850 + 20 + 30))

start_target() { # PROGRAM ARG...
	rm -f go
	"$@" &
	target=$!
}

target_ended() { # STATUS
	local status=0
	wait "$target" 2>/dev/null || status=$?
	assert_eq "exit status of the program" "$1" "$status"
}

# Its code, as it is in memory.
code_of() {
	local range start end
	range=$(grep -m1 'r-xp.*/libc[.-]' "/proc/$target/maps" | cut -d' ' -f1)
	start=$((0x${range%-*})) end=$((0x${range#*-}))
	dd if="/proc/$target/mem" bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) status=none | sha256sum
}

exact() { # FILE THREADS ROUNDS
	local rounds=$(($2 * $3))
	assert_eq "events of $1" $((EVENTS * rounds)) "$(ledger_value "$1" produced)"
	assert_eq "lost events of $1" 0 "$(ledger_value "$1" lost)"
	assert_eq "frees of unrecorded blocks of $1" 0 "$(ledger_value "$1" orphan_frees)"
	assert_eq "inferred ends of $1" 0 "$(ledger_value "$1" inferred)"
	assert_eq "failed calls of $1" "$rounds" "$(ledger_value "$1" failed)"
	assert_eq "blocks and bytes of $1" "$((11 * rounds)),$((BYTES * rounds)),0" \
		"$(sql "$1" 'select count(*), sum(size), sum(leaked) from allocations')"
}

echo "every call, of four threads"
# With as much room that no stack is cut while the agent, on a busy machine, has not walked the first ones yet.
room="--memory-limit 128M"
start_target "$TARGETS/attached" go 3 100
attach -p $target $room --output all.heapcast
touch go
target_ended 7
attached_ended
exact all.heapcast 4 100
assert_eq "events by thread" "2100 2100 2100 2100" "$("$COLLECTOR" ledger --json all.heapcast | grep -o '"produced":2100,' | tr -dc '0-9\n' | xargs)"
cat >expected <<END
calloc,400,24000
malloc,1600,57600
memalign,800,131200
posix_memalign,400,40000
realloc,1200,460000
END
# What is one function under two names, or leads to another one, has the other's name (glibc: aligned_alloc, reallocarray).
sql all.heapcast "select case kind when 'aligned_alloc' then 'memalign' when 'reallocarray' then 'realloc' else kind end kind,
	count(*), sum(size) from allocations group by 1 order by 1" >got
diff expected got >&3 || fail "blocks and bytes by function"
assert_eq "how they ended" "free,3200
realloc,800
realloc to 0,400" "$(sql all.heapcast "select replace(death_kind, 'reallocarray', 'realloc'), count(*) from allocations group by 1 order by 1")"
# The callers of a free whose own code has taken the registers that they are found by (targets/attached).
assert_eq "stacks of frees" "free_by_fp,400
free_by_rbx,400" "$(sql all.heapcast "select replace(text, rtrim(text, replace(text, ';', '')), '') who, count(*) from allocations
	join stacks on stacks.stack = death_stack where text like '%work;family;free_by_%' group by 1 order by 1")"
# From the call site to the root: deep() is 1 to 20 frames and main's or the thread's.
assert_eq "stacks that were cut" 0 "$(sql all.heapcast "select count(*) from allocations where depth < 3")"

echo "a static program"
if [ -x "$TARGETS/attached_static" ]; then
	start_target "$TARGETS/attached_static" go 1 50
	attach -p $target --output static.heapcast
	touch go
	target_ended 7
	attached_ended
	exact static.heapcast 2 50
fi

echo "other allocators"
for library in libtcmalloc_minimal.so.4 libjemalloc.so.2 libmimalloc.so.2; do
	path=$(ldconfig -p | awk -v name=$library '$1 == name { found = $NF } END { print found }')
	[ -n "$path" ] || continue
	start_target env LD_PRELOAD="$path" MALLOC_CONF=zero_realloc:free "$TARGETS/attached" go 1 100 2>target.err
	wait_for 10 "the library to be loaded" grep -q "$library" /proc/$target/maps
	attach -p $target --output $library.heapcast
	touch go
	target_ended 7
	attached_ended
	# Each has its own ways with the family, but what is begun and ended must fit.
	assert_eq "lost events of $library" 0 "$(ledger_value $library.heapcast lost)"
	assert_eq "frees of unrecorded blocks of $library" 0 "$(ledger_value $library.heapcast orphan_frees)"
	# mimalloc's realloc(p, 0) gives a block of no bytes.
	blocks=11
	[ $library != libmimalloc.so.2 ] || blocks=12
	assert_eq "blocks and bytes of $library" "$((blocks * 200)),$((BYTES * 200)),0" \
		"$(sql $library.heapcast 'select count(*), sum(size), sum(leaked) from allocations')"
done

echo "another libc"
if [ -x "$TARGETS/attached_musl" ]; then
	start_target "$TARGETS/attached_musl" go 3 100 2>target.err
	wait_for 10 "the program to begin" grep -q "^Threads:.*4" /proc/$target/status
	attach -p $target $room --output musl.heapcast
	touch go
	target_ended 7
	attached_ended
	assert_eq "lost events of musl" 0 "$(ledger_value musl.heapcast lost)"
	assert_eq "frees of unrecorded blocks of musl" 0 "$(ledger_value musl.heapcast orphan_frees)"
	assert_eq "blocks and bytes of musl" "4800,$((BYTES * 400)),0" \
		"$(sql musl.heapcast 'select count(*), sum(size), sum(leaked) from allocations')"
	assert_eq "stacks that were cut with musl" 0 "$(sql musl.heapcast "select count(*) from allocations where depth < 3")"
fi

echo "let go, it is as it was"
start_target "$TARGETS/attached" go 0 100
sleep 0.2
code_of >before
attach -p $target --output detached.heapcast
code_of >during
! cmp -s before during || fail "no probe is to be seen"
kill -INT "$agent_pid"
attached_ended
code_of >after
cmp -s before after || fail "the program's code is not what it was"
touch go
target_ended 7
assert_contains "the end" <("$COLLECTOR" ledger --json detached.heapcast) detached

echo "the agent is killed"
start_target "$TARGETS/attached" go 0 100
attach -p $target --output killed.heapcast
kill -KILL "$agent_pid"
wait "$agent_pid" 2>/dev/null || true
same_again() { code_of >after && cmp -s before after; }
wait_for 10 "the kernel to take the probes out" same_again
touch go
target_ended 7

echo "the program is killed"
start_target "$TARGETS/attached" go 2 100 "$T/done"
attach -p $target --output last.heapcast
touch go
wait_for 60 "the program" test -e "$T/done"
kill -KILL $target
target_ended 137
attached_ended
exact last.heapcast 3 100

echo "by name, before it runs"
ln -s "$TARGETS/attached" heapcast-late
"$AGENT" attach --comm heapcast-late --output late.heapcast --quiet 2>attach.err &
agent_pid=$!
start_target ./heapcast-late go 0 100
wait_for 30 "the program to be found" test -s late.heapcast
sleep 0.3
touch go
target_ended 7
late_has_ended() {
	"$COLLECTOR" ledger late.heapcast >late.ledger
	grep -q 'exited with status 7' late.ledger
}
wait_for 30 "the stream's end" late_has_ended
kill -INT "$agent_pid"
attached_ended
exact late.heapcast 1 100

echo "what can't be attached to"
assert_status 3 "$AGENT" attach -p 4194304 2>err
assert_contains "the message" err "there is no process"
assert_status 2 "$AGENT" attach 2>err
assert_contains "the message" err "what shall be recorded?"
assert_status 2 "$AGENT" attach -p x 2>err
assert_contains "the message" err "-p takes the number of a process"

echo "for a time, which begins when it is attached"
start_target "$TARGETS/attached" never 0 1
"$AGENT" attach -p $target --for 2s --output for.heapcast --quiet 2>attach.err
duration=$("$COLLECTOR" report --json for.heapcast | tr , '\n' | sed -n 's/^"duration_ns"://p')
[ "$duration" -ge 2000000000 ] || fail "recorded for $duration ns"
kill -KILL $target
target_ended 137
