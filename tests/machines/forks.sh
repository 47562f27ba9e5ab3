#!/bin/bash
# machines with --full: armhf amd64-5.10 arm64 mips64el
# Fork children that go on without exec, on a board: each has a recording of its own that equals what the child says it did, and none hangs.
# One whose parent has another thread in the loader is not recorded: what it would wait for is never opened there.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-forks.sh"

cat >script <<'END_OF_SCRIPT'
record() {
	name=$1
	shift
	mkdir out/$name
	timeout 60 ./agent run --follow --memory-limit 64M --output out/$name/%p -- "$@" >out/$name.out 2>out/$name.err ||
		{ echo "$name ended with $?"; cat out/$name.err; exit 3; }
}
ls /lib/*/libm.so.6 || exit 2 # which `busy` loads; the agent needs it, too
for how in "prefork 3" "nested 4" thread raw "sequence 25" daemon "busy 20" iterating; do
	record ${how% *} ./forks $how
done
for attempt in 1 2 3; do # a child waits for the agent for a second; with twenty at once on a busy host that may be too little
	rm -rf out/handler
	record handler ./forks handler 20
	grep ": 0 events" out/handler.err || break
done
record fork_all ./fork_all
record clones ./clones
END_OF_SCRIPT
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built targets/forks)" \
	"$(built targets/fork_all)" "$(built targets/clones)"
mv out/* .

for name in prefork nested thread raw sequence daemon; do
	check_recordings $name
done
check_handlers handler
assert_contains "iterating: the summary" iterating.err "1 fork children were not recorded"
assert_eq "iterating: recordings" 1 "$(find iterating -type f | wc -l)"
unready=$(grep -oE "heapcast: [0-9]+ fork children were not recorded" busy.err | grep -oE '[0-9]+' || echo 0)
assert_eq "busy: children, recorded or not" 21 $((unready + $(find busy -type f | wc -l)))
for name in fork_all clones; do
	assert_contains "$name" $name.out "good 4"
done
for file in busy/*; do # whose parent is not complete where some of its children were only counted
	adds_up "$file" >ledger.txt || fail "$file does not add up: $(cat ledger.txt)"
done
for file in fork_all/* clones/*; do
	"$COLLECTOR" ledger "$file" >ledger.txt || fail "$file does not balance, or is not complete: $(cat ledger.txt)"
done
