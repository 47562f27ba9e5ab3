#!/bin/bash
# --follow: fork children that go on without exec, each with a recording of its own that equals what the child says it did.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-forks.sh"
FORKS=$BUILD/targets/forks

# NAME ARG...: records `forks ARG...` into one file a process, in the folder NAME.
record_forks() {
	local name=$1
	shift
	mkdir "$T/$name"
	timeout 30 "$AGENT" run --quiet --follow --memory-limit ${MEMORY:-16M} --output "$T/$name/%p" -- "$FORKS" "$@" \
		>"$T/$name.out" 2>"$T/$name.err" || fail "forks $* ended with $?"
}

record_forks prefork prefork 3
check_recordings prefork
child=$T/prefork/$(pid_of prefork worker)
parent=$T/prefork/$(pid_of prefork parent)

# The child names its parent and the place; its blocks have the call chain, across the fork.
"$COLLECTOR" ledger --json "$child" >"$T/child.json"
"$COLLECTOR" ledger --json "$parent" >"$T/parent.json"
assert_eq "the parent of the child" "$(number "$T/parent.json" id)" "$(number "$T/child.json" parent)"
assert_eq "events of the parent at the fork" 10 "$(number "$T/child.json" parent_event)"
"$COLLECTOR" leaks "$child" >"$T/leaks.txt"
assert_contains "leaks of the child" "$T/leaks.txt" keep_in_child
if grep -q keep_in_parent "$T/leaks.txt"; then fail "the parent's blocks are in the child"; fi
"$COLLECTOR" export --format collapsed "$child" >"$T/collapsed.txt" 2>/dev/null ||
	"$COLLECTOR" flamegraph "$child" >"$T/collapsed.txt"
assert_contains "the chain" "$T/collapsed.txt" main prefork worker child_work keep_in_child

record_forks nested nested 4
check_recordings nested
record_forks thread thread
check_recordings thread
record_forks raw raw
check_recordings raw
record_forks sequence sequence 25
check_recordings sequence
record_forks daemon daemon
check_recordings daemon

# Other threads load and unload a library all the while: the children never hang. Those that are forked while the loader is
# at it are not followed, and counted.
mkdir "$T/busy"
timeout 60 "$AGENT" run --follow --memory-limit 32M --output "$T/busy/%p" -- "$FORKS" busy 50 >"$T/busy.out" 2>"$T/busy.err" ||
	fail "forks busy ended with $?"
unready=$(grep -oE "heapcast: [0-9]+ fork children were not recorded" "$T/busy.err" | grep -oE '[0-9]+' || echo 0)
assert_eq "busy: children, recorded or not" 51 $((unready + $(find "$T/busy" -type f | wc -l)))
[ "$unready" -lt 50 ] || fail "busy: no child was recorded"
for file in "$T"/busy/*; do adds_up "$file" >"$T/ledger.txt" || fail "$file does not add up"; done
"$COLLECTOR" ledger --json "$T/busy/$(pid_of busy parent)" >"$T/ledger.json" || [ "$unready" -gt 0 ]
assert_eq "busy: children that its ledger says were not recorded" "$unready" "$(number "$T/ledger.json" unrecorded)"

# The same for sure: a child whose parent has a thread in the loader's list is not followed, and does not hang.
mkdir "$T/iterating"
timeout 60 "$AGENT" run --follow --output "$T/iterating/%p" -- "$FORKS" iterating >"$T/iterating.out" 2>"$T/iterating.err" ||
	fail "forks iterating ended with $?"
assert_contains "the summary" "$T/iterating.err" "1 fork children were not recorded"
assert_eq "iterating: recordings" 1 "$(find "$T/iterating" -type f | wc -l)"

# From a handler in the middle of hooks: those that are under way end in the child, without a trace in the parent's ring.
MEMORY=64M record_forks handler handler 20
assert_eq "workers" 20 "$(grep -c worker "$T/handler.out")"
check_handlers handler

# A child that outlives the program is waited for, and this is said; with a limit it goes on unrecorded.
mkdir "$T/outlive"
"$AGENT" run --follow --output "$T/outlive/%p" -- "$FORKS" outlive 2 >"$T/outlive.out" 2>"$T/outlive.err"
assert_contains "standard error" "$T/outlive.err" "1 of its children run on" "--linger"
late=$(pid_of outlive late)
"$COLLECTOR" ledger --json "$T/outlive/$late" >"$T/ledger.json"
assert_eq "allocations of the late child" 20 "$(number "$T/ledger.json" stored_allocations)"
"$AGENT" run --follow --linger 300ms --quiet --output "$T/outlive/%p" -- "$FORKS" outlive 8 >"$T/limit.out" 2>"$T/limit.err"
if grep -q late "$T/limit.out"; then fail "it waited for the child with --linger 300ms"; fi
wait_for 10 "the child to go on" grep -q late "$T/limit.out"

# vfork, posix_spawn and clone in one memory are as without us; who execs has a recording of its own.
for target in fork_all clones; do
	mkdir "$T/$target"
	"$AGENT" run --quiet --follow --memory-limit 32M --output "$T/$target/%p" -- "$BUILD/targets/$target" >"$T/$target.out"
	assert_contains "$target" "$T/$target.out" "good 4"
	for file in "$T/$target"/*; do "$COLLECTOR" ledger "$file" >"$T/ledger.txt" || fail "$file does not balance"; done
done
assert_contains "fork_all" "$T/fork_all.out" "others 0"
[ "$(find "$T/fork_all" -type f | wc -l)" -ge 3 ] || fail "fork_all: $(ls "$T/fork_all")"

# Not followed: silent.
"$AGENT" run --quiet --output "$T/alone-%p" -- "$FORKS" prefork 3 >"$T/alone.out"
assert_eq "recordings without --follow" 1 "$(find "$T" -name 'alone-*' | wc -l)"

# Little memory: the program is none the wiser, and each worker is recorded, or counted in the parent's ledger.
"$AGENT" run --follow --memory-limit 2M --output "$T/few-%p" -- "$FORKS" prefork 8 >"$T/few.out" 2>"$T/few.err"
assert_eq "lines of the workers" 9 "$(wc -l <"$T/few.out")"
parent=$T/few-$(awk '$1 == "parent" { print $2 }' "$T/few.out")
"$COLLECTOR" ledger --json "$parent" >"$T/few.json" || [ $? = 1 ]
assert_eq "workers, recorded and counted" 8 $(($(find "$T" -name 'few-[0-9]*' | wc -l) - 1 + $(number "$T/few.json" unrecorded)))

# Through the daemon, and with the library alone.
"$AGENT" serve --follow --memory-limit 16M --socket "$T/socket" --output "$T/daemon-%p" --log warn &
agent=$!
wait_for 10 "the daemon" test -S "$T/socket"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD "$FORKS" prefork 3 >"$T/served.out"
kill "$agent"
wait "$agent"
assert_eq "recordings of the daemon" 4 "$(find "$T" -name 'daemon-*' -type f | wc -l)"
HEAPCAST_FOLLOW=1 HEAPCAST_MEMORY_LIMIT=16M HEAPCAST_OUTPUT=$T/self-%p LD_PRELOAD=$PRELOAD "$FORKS" prefork 3 >"$T/self.out"
four() { [ "$(find "$T" -name 'self-*' -type f -size +0 | wc -l)" = 4 ]; }
wait_for 10 "four recordings" four

# Real programs: a shell's pipeline, whose ends fork and exec, and python's workers, which only fork. Those are ended once all
# work is done: each waits for the others, or a quick one would do it all before the others have begun.
mkdir "$T/shell" "$T/python"
"$AGENT" run --quiet --follow --memory-limit 32M --output "$T/shell/%p" -- \
	bash -c 'seq 1000 | while read -r n; do echo "$n"; done | sort -n | tail -n 1; echo end' >"$T/shell.out"
assert_eq "the pipeline" "1000 end" "$(tr '\n' ' ' <"$T/shell.out" | sed 's/ $//')"
for file in "$T"/shell/*; do
	"$COLLECTOR" ledger --json "$file" >"$T/ledger.json" || fail "$file does not balance"
	assert_eq "orphans in $file" 0 "$(number "$T/ledger.json" orphan_frees)"
done
[ "$(find "$T/shell" -type f | wc -l)" = 5 ] || fail "shell: expected bash, seq, the loop, sort, tail: $(ls "$T/shell")"

[ -x /usr/bin/python3 ] || { echo "python3 is not installed: not tried"; exit 0; }
cat >"$T/work.py" <<-'END'
	import ctypes, multiprocessing as m, os
	libc = ctypes.CDLL(None)
	libc.malloc.restype = ctypes.c_void_p
	libc.malloc.argtypes = [ctypes.c_size_t]
	def begin(b):
	    global barrier
	    barrier = b
	def work(n):
	    barrier.wait()
	    for _ in range(n): libc.malloc(7654321)
	    return n
	if __name__ == "__main__":
	    m.set_start_method("fork")
	    with m.Pool(3, begin, [m.Barrier(3)]) as pool:
	        print(sum(pool.map(work, [11, 22, 33], chunksize=1)))
END
"$AGENT" run --quiet --follow --memory-limit 32M --output "$T/python/%p" -- /usr/bin/python3 "$T/work.py" >"$T/python.out"
assert_eq "python's sum" 66 "$(cat "$T/python.out")"
assert_eq "python's processes" 4 "$(find "$T/python" -type f | wc -l)"
kept=0
for file in "$T"/python/*; do
	"$COLLECTOR" ledger "$file" >"$T/ledger.txt" || fail "$file does not balance"
	"$COLLECTOR" export --format json --with-stacks --size-min 7654321 --size-max 7654321 "$file" >"$T/kept.json"
	kept=$((kept + $(wc -l <"$T/kept.json")))
done
assert_eq "blocks of python's workers" 66 "$kept"
