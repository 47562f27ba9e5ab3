#!/bin/bash
# Libraries that come and go under more names than the recorder has room for modules: every stack through them is whole.
# ctest: LABELS full TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
NAMES=4150 # more than 4096
[ -x "$BUILD/targets/dlopener" ] || fail "dlopener is not built"
plugins=()
for ((i = 0; i < NAMES; i++)); do
	plugins+=("./p$i")
done
for number in 1 2; do cp "$BUILD/targets/plugin$number.so" "$T/plugin$number.so"; done
for ((i = 0; i < NAMES; i++)); do echo "plugin$((i % 2 + 1)).so p$i"; done | xargs -n 2 ln

work_dlopener() {
	"$@" "$BUILD/targets/dlopener" $((NAMES + 50)) "${plugins[@]}"
}
stacks_run "$CHECK" dlopener 1
stacks_sound dlopener
assert_eq "stacks that are cut" 0 "$(found dlopener truncated)"
assert_eq "blocks" $(((NAMES + 50) * 3)) "$(value_of allocations)"
[ "$(found dlopener compared)" -gt $((NAMES * 6)) ] || fail "only $(found dlopener compared) stacks were compared"
