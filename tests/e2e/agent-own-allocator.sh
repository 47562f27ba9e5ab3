#!/bin/bash
# A program with an allocator linked into it, and a few without: `agent run` says of the former that it can't see what that
# one gives, and nothing of the others; all of them run.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "there is no gcc"
cat >"$T/own.c" <<'EOF'
#include <stddef.h>
static char room[1 << 16];
static size_t used;
void *_rjem_malloc(size_t size) { used += size; return room + used - size; }
int main(void) { return _rjem_malloc(100) ? 5 : 6; }
EOF
gcc -O0 -o "$T/own program" "$T/own.c"
assert_status 5 "$AGENT" run --output "$T/x" -- "$T/own program" 2>"$T/own.err"
assert_contains "agent run of a program with an allocator" "$T/own.err" "has an allocator linked into it" "_rjem_malloc"
assert_eq "lines" 1 "$(grep -c 'linked into it' "$T/own.err")"
strip -o "$T/stripped" "$T/own program"
for program in "$T/stripped" /bin/true /bin/bash; do
	"$AGENT" run --output "$T/y" -- "$program" </dev/null 2>"$T/other.err" || true
	assert_eq "notices about $program" 0 "$(grep -c 'linked into it' "$T/other.err" || true)"
done
