#!/bin/bash
# An agent that can't follow, or has little memory, loses events, but none in silence. The causes are a ring that is
# full, more threads than places, and more sampled blocks than there is room for. The memory that it has in the kernel
# counts, too: with its own it is within the limit.
. "$(dirname "$0")/lib-attach.sh"
need node

start_target() { # PROGRAM ARG...
	rm -f go
	"$@" &
	target=$!
}

target_ended() {
	local status=0
	wait "$target" || status=$?
	assert_eq "exit status of the program" 7 "$status"
}

# Events lost for this reason.
lost_by() { # REASON FILE
	adds_up --json "$2" | node -p "JSON.parse(require('fs').readFileSync(0)).gaps.filter(g => g.reason === '$1').reduce((sum, g) => sum + g.events, 0)"
}

echo "a ring that is full"
start_target "$TARGETS/attached" go 2 3000
attach -p $target --output full.heapcast --policy count --memory-limit 4M
kill -STOP "$agent_pid"
touch go
target_ended
kill -CONT "$agent_pid"
attached_ended
assert_eq "events" $((3 * 3000 * 21)) "$(ledger_value full.heapcast produced)"
lost=$(ledger_value full.heapcast lost)
[ "$lost" -gt 0 ] || fail "nothing was lost"
assert_eq "lost as the ring was full" "$lost" "$(lost_by 'ring full' full.heapcast)"
# What is on record is true: every block that is there has its size, and none is a leak that it was not.
assert_eq "sizes that nobody asked for" 0 "$(sql full.heapcast 'select count(*) from allocations where size not in (64, 60, 100, 128, 200, 30, 300, 250, 600, 20)')"

echo "a ring that is full, and a program that waits for it"
start_target "$TARGETS/attached" go 0 300
attach -p $target --output wait.heapcast --policy block --memory-limit 4M
kill -STOP "$agent_pid"
touch go
target_ended
kill -CONT "$agent_pid"
attached_ended
assert_eq "events" $((300 * 21)) "$(ledger_value wait.heapcast produced)"

echo "more threads than places"
start_target "$TARGETS/attached" go 40 20
attach -p $target --output crowd.heapcast --memory-limit 4M
touch go
target_ended
attached_ended
lost=$(ledger_value crowd.heapcast lost)
[ "$(lost_by 'no slice' crowd.heapcast)" -gt 0 ] || fail "there was a place for each thread"
# On a busy machine the ring may be full, too.
assert_eq "lost for lack of a place or room" "$lost" $(($(lost_by 'no slice' crowd.heapcast) + $(lost_by 'ring full' crowd.heapcast)))
# Of these it is not known how a call has ended, so three more of a round are counted, which failed.
produced=$(ledger_value crowd.heapcast produced)
[ "$produced" -ge $((41 * 20 * 21)) ] && [ "$produced" -le $((41 * 20 * 30)) ] || fail "$produced events"

echo "more sampled blocks than there is room for"
start_target "$TARGETS/hoard" go 20000
attach -p $target --output hoard.heapcast --mode sample=1 --memory-limit 4M
touch go
target_ended
attached_ended
assert_eq "events" 40000 "$(ledger_value hoard.heapcast produced)"
assert_eq "lost events" 0 "$(ledger_value hoard.heapcast lost)"
refused=$(ledger_value hoard.heapcast samples_refused)
[ "$refused" -gt 0 ] || fail "there was room for every block"
assert_eq "blocks, and such that were not given back" "$((20000 - refused)),0" \
	"$(sql hoard.heapcast 'select count(*), sum(leaked) from allocations')"

echo "memory in the kernel"
kernel_bytes() { # of maps and programs, as it says itself
	awk '/^memlock:/ { sum += $2 } END { print sum + 0 }' /proc/"$agent_pid"/fdinfo/* 2>/dev/null
}
own_bytes() {
	awk '/^Rss(Anon|Shmem):/ { sum += $2 * 1024 } END { print sum }' /proc/"$agent_pid"/status
}
for limit in 4 8 32; do
	start_target "$TARGETS/attached" go 3 500 "$T/done"
	attach -p $target --output memory.heapcast --memory-limit ${limit}M
	touch go
	wait_for 60 "the program" test -e "$T/done"
	kernel=$(kernel_bytes) own=$(own_bytes)
	echo "  $limit MiB: $own bytes of its own, $kernel in the kernel"
	[ "$kernel" -gt $((limit * 128 * 1024)) ] || fail "the kernel says nothing of its memory"
	[ $((own + kernel)) -le $((limit << 20)) ] || fail "$own and $kernel bytes are more than $limit MiB"
	kill -KILL $target
	wait $target 2>/dev/null || true
	attached_ended
	rm -f "$T/done"
done

echo "what can't be had"
assert_status 2 "$AGENT" attach -p 1 --memory-limit 2M 2>err
assert_contains "the message" err "too little for attaching: the least is 3.71 MiB"
assert_status 2 "$AGENT" attach -p 1 --policy thin 2>err
assert_contains "the message" err "--policy thin is not for attach"
for option in --full-walk --allocator-figures --block-max=1s; do
	assert_status 2 "$AGENT" attach -p 1 $option 2>err
	assert_contains "the message" err "option of"
done
