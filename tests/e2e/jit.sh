#!/bin/bash
# Code made at run time, without frame pointers, with a table that is registered. Exceptions through it are caught as
# without us, and stacks through it are whole.
. "$(dirname "$0")/lib.sh"
[ -x "$TARGETS/jit_throw" ] || skip "no C++ compiler was there"
assert_eq "natively" "caught 2100" "$("$TARGETS/jit_throw")"
"$AGENT" run --quiet --output "$T/jit.heapcast" -- "$TARGETS/jit_throw" >"$T/jit.out" 2>"$T/jit.err" ||
	fail "ended with $?"
assert_eq "recorded" "caught 2100" "$(cat "$T/jit.out")"
"$COLLECTOR" export --format collapsed "$T/jit.heapcast" >"$T/collapsed.txt"
grep -E 'through[^;]* [0-9]+$' "$T/collapsed.txt" >"$T/through.txt" || fail "no stack has the function that allocates"
assert_contains "the stack of the block" "$T/through.txt" main
! grep -F '[truncated]' "$T/through.txt" || fail "stacks end at the code that was made at run time"
