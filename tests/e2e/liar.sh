#!/bin/bash
# Tables that lie, on stacks of every kind: the program goes on, the stack is cut, and what is not concerned is whole.
. "$(dirname "$0")/lib.sh"

"$AGENT" run --quiet --output "$T/liar.heapcast" -- "$TARGETS/liar" 2>"$T/err" || fail "the program ended with $?"

stacks() { # of the blocks of this size, a line each, with the sum of their bytes
	"$COLLECTOR" export --format collapsed --hide none --size-min "$1" --size-max "$1" "$T/liar.heapcast" >"$T/stacks.txt"
}

bytes() { # of the stacks that match
	awk -v those="$1" '$0 ~ those { sum += $NF } END { print sum + 0 }' "$T/stacks.txt"
}

stacks 4321
assert_eq "behind the smaller lie" $((4 * 4321)) "$(bytes '^.truncated.;lie_little;allocate ')"
assert_eq "behind the larger lie" $((4 * 4321)) "$(bytes '^.truncated.;lie_much;allocate ')"
stacks 1234
assert_eq "honest stacks" $((8 * 1234)) "$(bytes ';allocate ')"
assert_eq "honest stacks that are cut" 0 "$(bytes '^.truncated.')"
