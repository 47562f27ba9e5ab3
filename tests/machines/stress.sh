#!/bin/bash
# machines with --full: arm64 armhf mips64el
# Exceptions, jumps, coroutines, signals, plugins, in eight threads at random, on a board: the program comes to its end with the library in
# it, and with the check build what is recorded is what a walk in full gives.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
SECONDS_LONG=45
machine_seconds=560

# The cross compiler's: sysroots have none.
runtime=/usr/$(awk -v name="$machine" '$1 == name { print $3 }' "$MACHINES_SOURCE/table")/lib/libstdc++.so.6
[ -e "$runtime" ] || skip "there is no $runtime (deploy/install-packages board)"

echo "seconds=$SECONDS_LONG" >script
cat >>script <<'END_OF_SCRIPT'
export LD_LIBRARY_PATH=/test
HEAPCAST_PRELOAD=/test/libheapcast.so ./agent run --quiet --output /dev/null -- ./stress $seconds || exit 3
HEAPCAST_PRELOAD=/test/libheapcast-check.so HEAPCAST_CHECK=out/report.stress \
	./agent run --quiet --output /dev/null -- ./stress $seconds 8 1 3000 >out/stacks.out || exit 4
END_OF_SCRIPT
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built lib/libheapcast-check.so)" "$(built targets/stress)" \
	"$(built targets/plugin1.so)" "$(built targets/plugin2.so)" "$(built targets/swap1.so)" "$(built targets/swap2.so)" "$(built targets/swap3.so)" "$runtime"
mv out/* .
"$SHOW" report.stress.* >stress.found
cat stress.found stacks.out
assert_eq "records that break a rule" 0 "$(found stress unsound)"
[ "$(found stress compared)" -gt 10000 ] || fail "only $(found stress compared) stacks were compared"
for thing in exceptions longjmps coroutines signals plugins; do
	[ "$(value_of $thing)" -gt $((SECONDS_LONG / 2)) ] || fail "only $(value_of $thing) $thing"
done
# Beyond code that changes stacks (setcontext) a walk may go wrong where code is read, and find what others write meanwhile.
[ $(($(found stress differences) * 10000)) -le "$(found stress compared)" ] || fail "more than one stack in 10,000 differs"
