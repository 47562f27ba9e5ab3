#!/bin/bash
# Deep stacks: outer frames are kept, 256 of them unless the user says otherwise, and the recording says that inner ones are missing.
. "$(dirname "$0")/lib.sh"

# Frames of the stack of the block of 5555 bytes, in what was recorded with these options.
stack_of() {
	"$AGENT" run --quiet --output "$T/deep.heapcast" "$@" -- "$TARGETS/deep" 2>"$T/deep.err" || fail "ended with $?"
	"$COLLECTOR" export --format collapsed --size-min 5555 --size-max 5555 "$T/deep.heapcast" >"$T/deep.txt"
	assert_eq "lines" 1 "$(wc -l <"$T/deep.txt")"
	sed 's/ [0-9]*$//' "$T/deep.txt" | tr ';' '\n' >"$T/frames.txt"
	rm "$T/deep.heapcast"
}

stack_of
assert_contains "the outer end" "$T/frames.txt" main
assert_contains "what is missing" "$T/frames.txt" "[depth limit]"
assert_eq "frames" 256 "$(grep -vc '^\[depth limit\]$' "$T/frames.txt")"
assert_eq "the outermost" "$(head -1 "$T/frames.txt")" _start
stack_of --depth 32
assert_eq "frames of 32" 32 "$(grep -vc '^\[depth limit\]$' "$T/frames.txt")"
assert_contains "the outer end of 32" "$T/frames.txt" main
stack_of --depth 400
assert_eq "frames of 400" 400 "$(grep -vc '^\[depth limit\]$' "$T/frames.txt")"
