#!/bin/bash
# Programs that forbid themselves system calls, or their counter, end as they do alone. Each of their calls is in the
# account: stored, or a counted gap where the agent could not be waited for. If waiting needs nothing that is forbidden,
# all is stored.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-strict.sh"
need python3

recorded() {
	alone "$1" "$2" "$3"
	lives "$T/$1-$2-$3.heapcast" "$AGENT" run --quiet --output "$T/$1-$2-$3.heapcast" -- "$TARGETS/strict" "$1" "$2" "$3"
	counted "$T/$1-$2-$3.heapcast" ${4:+"$4"}
}

recorded none prctl main exact
recorded none prctl all exact
recorded none prctl one exact
recorded none prctl new exact
for who in main one new; do
	recorded futex prctl $who
	recorded gettid syscall $who exact
done
recorded futex syscall main
recorded futex syscall all
recorded gettid syscall all exact
recorded mode prctl main
recorded mode syscall one
recorded tsc prctl main exact
recorded tsc syscall all exact
recorded tsc prctl new exact
recorded open prctl main exact
recorded open syscall all exact

# Stacks are whole, also of what is met first in the sandbox; what a thread has after it is recorded, too.
alone futex prctl main 600
lives "$T/few.heapcast" "$AGENT" run --quiet --output "$T/few.heapcast" -- "$TARGETS/strict" futex prctl main 600
counted "$T/few.heapcast" exact
"$COLLECTOR" report "$T/few.heapcast" >"$T/report.txt"
assert_contains "collector report" "$T/report.txt" deeper main
! grep -q truncated "$T/report.txt" || fail "stacks are cut: $(cat "$T/report.txt")"
# No harm is done where a filter is refused, or only asked for: the program does both before it begins.
