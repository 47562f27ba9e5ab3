#!/bin/bash
# D by gdc: modules, templates and members.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-languages.sh"
need gdc objcopy
cat >"$T/yard.d" <<'D'
module yard;
import core.stdc.stdlib : malloc, exit;
__gshared void* kept;
pragma(inline, false) void stack(T)(T n) { kept = malloc(cast(size_t) n * T.sizeof); }
struct Crane { pragma(inline, false) void lift(int n, string what) { kept = malloc(n + what.length); } }
int main()
{
	stack!long(10);
	Crane c;
	c.lift(5, "x");
	return 0;
}
D
gdc -g -O0 "$T/yard.d" -o "$T/p" 2>"$T/gdc.err" || skip "gdc can't build here: $(head -n 2 "$T/gdc.err")"
check_language "$T/p" "yard.stack!(long).stack(long)" "yard.Crane.lift(int, immutable(char)[])"
