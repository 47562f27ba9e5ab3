#!/bin/bash
# ctest: LABELS e2e COST 60
# A program that is attached to becomes another one, or has children. The exec is in its stream, and the new program is
# recorded from its first call on. With --follow each child has a recording of its own.
. "$(dirname "$0")/lib-attach.sh"
ROUND=21 # events of a round of targets/attached

number() { "$COLLECTOR" ledger --json "$1" >ledger.json || fail "the ledger of $1 does not balance: $(cat ledger.json)"
	grep -oE "\"$2\":\"?[0-9a-f]+" ledger.json | head -n 1 | grep -oE '[0-9a-f]+$'; }

begin_follow() { # FOLDER HOW ARG...
	local folder=$1
	shift
	rm -f begin go
	mkdir "$folder"
	"$TARGETS/followed" begin go "$@" >children 3>&- &
	target=$!
	attach -p $target --follow --log info --output "$folder/%p"
	touch begin
}

children_say() { [ "$(grep -c '^child' children)" = "$1" ]; }

all_attached() {
	local pid
	for pid in $(awk '{ print $2 }' children); do
		grep -q "attached to pid $pid " attach.err || return 1
	done
}

target_ended() {
	local status=0
	wait "$target" || status=$?
	assert_eq "exit status of the program" 7 "$status"
	attached_ended
}

work_of() { # FILE NUMBER
	assert_eq "lost events of $1" 0 "$(number "$1" lost)"
	assert_eq "frees of $1's parent's blocks" "$2" "$(number "$1" inherited_frees)"
	assert_eq "orphans of $1" 0 "$(number "$1" orphan_frees)"
	assert_eq "allocations of $1" $((10 * $2)) "$(number "$1" stored_allocations)"
	assert_eq "blocks and bytes of $1" "$((10 * $2)),$((10 * $2 * (100 + $2))),0" \
		"$(sql "$1" 'select count(*), sum(size), sum(leaked) from allocations')"
}

echo "exec: one stream"
rm -f begin
bash -c 'for i in $(seq 50); do :; done; until [ -e begin ]; do sleep 0.05; done; exec "$0" begin 0 100 done' "$TARGETS/attached" 3>&- &
target=$!
wait_for 10 "the shell" grep -q libc /proc/$target/maps
attach -p $target --output exec.heapcast
touch begin
wait_for 60 "the new program's work" test -e done
named() { "$COLLECTOR" top --hide none --by function --value allocated exec.heapcast | grep -q family; }
wait_for 60 "what it has recorded" named
kill -KILL $target
wait $target 2>/dev/null || true
attached_ended
"$COLLECTOR" ledger exec.heapcast >ledger.txt || fail "it does not balance: $(cat ledger.txt)"
assert_contains "the ledger" ledger.txt "the program replaced itself (exec)" "killed"
assert_eq "lost" 0 "$(number exec.heapcast lost)"
# Exact, from its first call on: its probes were there before its libc was.
assert_eq "events of the new program" $((ROUND * 100)) \
	"$(sed -n '/^THREAD/,/^$/p' ledger.txt | tr -d , | awk 'NR > 2 && NF { sum += $(NF - 2) } END { print sum }')"
"$COLLECTOR" top --by backtrace --value allocated exec.heapcast >top.txt
assert_contains "its stacks" top.txt "family" "by work"

echo "forked children"
begin_follow forked fork 3
wait_for 60 "the children" children_say 3
wait_for 60 "them to be attached to" all_attached
touch go
target_ended
n=0
for pid in $(awk '{ print $2 }' children | sort -n); do
	n=$((n + 1))
	work_of "forked/$pid" $n
	assert_eq "its parent" "$(number forked/$target id)" "$(number forked/$pid parent)"
done
assert_eq "recordings" 4 "$(find forked -type f | wc -l)"
"$COLLECTOR" top --by backtrace --value allocated forked/$pid >top.txt
assert_contains "stacks of a child" top.txt "pass_in_child" "by child" "by many" "by main"

echo "children of children, and of threads"
begin_follow nested nest 3
wait_for 60 "the children" children_say 1
wait_for 60 "them to be attached to" all_attached
touch go
target_ended
begin_follow thread thread 1
wait_for 60 "the child" children_say 1
wait_for 60 "it to be attached to" all_attached
touch go
target_ended
work_of "thread/$(awk '{ print $2 }' children)" 1

echo "a child that becomes another program"
begin_follow become exec "$TARGETS/attached" begin 0 50
wait_for 60 "the child" children_say 1
wait_for 60 "it to be attached to" all_attached
touch go
target_ended
child=become/$(awk '{ print $2 }' children)
assert_eq "events of the child" $((ROUND * 50)) "$(number $child produced)"
assert_eq "lost" 0 "$(number $child lost)"
"$COLLECTOR" ledger $child >ledger.txt
assert_contains "the exec" ledger.txt "the program replaced itself (exec)" "exited with status 7"

echo "posix_spawn: while it shares the parent's memory it is left alone"
rm -f go
begin_follow spawned vfork "$TARGETS/attached" go 0 50
two() { [ "$(grep -c 'attached to pid' attach.err)" = 2 ]; }
wait_for 60 "the child to be attached to" two
touch go
target_ended
assert_eq "recordings" 2 "$(find spawned -type f | wc -l)"
child=$(find spawned -type f ! -name $target)
assert_eq "events of the child" $((ROUND * 50)) "$(number $child produced)"
assert_eq "events of the parent" "$(number spawned/$target produced)" "$(number spawned/$target stored)"

echo "without --follow"
rm -f begin go
mkdir alone
"$TARGETS/followed" begin go fork 2 >children 3>&- &
target=$!
attach -p $target --output 'alone/%p'
touch begin
wait_for 60 "the children" children_say 2
touch go
target_ended
assert_eq "recordings" 1 "$(find alone -type f | wc -l)"
