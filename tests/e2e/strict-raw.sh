#!/bin/bash
# The agent sees filters that the program sets by an instruction of its own within a second, and tells the program. The
# program allocates as soon as three seconds have gone by, and lives.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-strict.sh"
need python3
[ "$(uname -m)" = x86_64 ] || skip "the program's instruction is x86-64's"
cases=("futex raw main" "futex raw one" "gettid raw new" "mode raw one")
declare -A pid

# All at once, since they wait.
for case in "${cases[@]}"; do
	# shellcheck disable=SC2086 # three words
	"$AGENT" run --quiet --output "$T/$case.heapcast" -- "$TARGETS/strict" $case 5000 >"$T/$case.out" 2>"$T/$case.err" &
	pid[$case]=$!
done
for case in "${cases[@]}"; do
	status=0
	wait "${pid[$case]}" || status=$?
	[ "$status" != 77 ] || skip "$case can't be had here"
	# shellcheck disable=SC2086
	alone none prctl ${case##* } 5000
	lives "$T/none" "$AGENT" run --quiet --output "$T/none ${case##* }.heapcast" -- "$TARGETS/strict" none prctl ${case##* } 5000
	counted "$T/none ${case##* }.heapcast" exact
	cp "$T/$case.out" "$T/recorded.out"
	lived "$T/$case.heapcast" "$status"
	counted "$T/$case.heapcast"
done
