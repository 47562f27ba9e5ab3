#!/bin/bash
# A program that was built with a sanitizer ends at once when something is preloaded into it: `agent run` says so before.
. "$(dirname "$0")/lib.sh"
printf '#include <stdlib.h>\nint main(void) { free(malloc(10)); return 5; }\n' >"$T/program.c"
tried=0

# built COMPILER OPTION...: $T/program is such a program
built() {
	command -v "$1" >/dev/null && "$@" -o "$T/program" "$T/program.c" 2>/dev/null
}

for build in "gcc -fsanitize=address" "gcc -fsanitize=address -static-libasan" "gcc -fsanitize=thread" \
	"clang -fsanitize=address" "clang -fsanitize=address -shared-libasan" "clang -fsanitize=thread"; do
	# shellcheck disable=SC2086
	built $build || continue
	tried=$((tried + 1))
	assert_status 126 "$AGENT" run --output "$T/x" -- "$T/program" 2>"$T/refused.err"
	assert_contains "agent run of $build" "$T/refused.err" "is built with -fsanitize=" "build it without"
	assert_eq "lines of $build" 1 "$(wc -l <"$T/refused.err")"
done
if built gcc -fsanitize=undefined; then
	assert_status 5 "$AGENT" run --quiet --output "$T/x" -- "$T/program"
	[ -s "$T/x" ] || fail "nothing was recorded of a program with the undefined behaviour sanitizer"
fi
[ $tried -gt 0 ] || skip "no compiler here has a sanitizer"
