#!/bin/bash
# A build of this project's base and format with everything recorded: ninja, protoc, gcc, its passes, the assembler. What comes
# out is what comes out without, byte for byte.
# ctest: LABELS full TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need cmake ninja gcc protoc
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CC CXX CFLAGS
export CCACHE_DISABLE=1
targets="heapcast_base heapcast_proto"

# What was made, with its sum.
made() {
	(cd "$T/tree" && find . \( -name '*.o' -o -name '*.a' -o -name '*.pb-c.*' \) -type f -exec sha256sum {} + | sort -k 2)
}

cmake -S "$ROOT" -B "$T/tree" -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$T/configure.out" 2>&1 ||
	{ tail -n 20 "$T/configure.out" >&3; fail "configuring"; }
ninja -C "$T/tree" -j 2 $targets >"$T/native.out" 2>&1 || { tail -n 20 "$T/native.out" >&3; fail "building natively"; }
made >"$T/native.sums"
[ "$(grep -c '\.o$' "$T/native.sums")" -ge 8 ] || fail "that was no build"
ninja -C "$T/tree" -t clean >/dev/null
assert_eq "what is left after cleaning" "" "$(made)"

mkdir "$T/rec"
"$AGENT" run --quiet --follow --output "$T/rec/%e-%p.heapcast" -- ninja -C "$T/tree" -j 2 $targets \
	>"$T/recorded.out" 2>&1 || { tail -n 20 "$T/recorded.out" >&3; fail "building under the recorder"; }
made >"$T/recorded.sums"
cmp "$T/native.sums" "$T/recorded.sums" || { diff "$T/native.sums" "$T/recorded.sums" >&3; fail "other objects"; }
# ninja, and for each object: the shell, gcc, cc1 and as.
check_recordings "the build" 20
for file in "$T"/rec/*; do
	"$COLLECTOR" ledger --json "$file" | grep -q '"unrecorded":0,' || fail "children of $file were not recorded"
done
for program in ninja cc1 protoc; do
	compgen -G "$T/rec/$program-*" >/dev/null || fail "$program is not among the recordings: $(ls "$T/rec")"
done
