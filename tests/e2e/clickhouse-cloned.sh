#!/bin/bash
# A data folder is copied with share/, and two collectors send what the two folders hold: they are one collector to all others. One of
# them notices, says so, and sends nothing more.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
"$BUILD/tests/made-fleet" "$T/one" 2 20 4 1 >"$T/made"
"$COLLECTOR" share --data "$T/one" --store "$store" >"$T/share"
cp -a "$T/one" "$T/two"
sends() { # NAME
	SHIFTED_SPEED=40 LD_PRELOAD=$BUILD/tests/libshifted.so "$COLLECTOR" share --data "$T/$1" --store "$store" --every 1s >"$T/$1.out" 2>&1 &
}
# Of whoever sends: it gives a sign every minute by its clock, which is 40 times as fast.
sign() { clickhouse_sql 1 "SELECT max(version) FROM heaps.collectors"; }
is_new() { [ "$(sign)" != "$1" ]; }
goes_on() {
	for _ in 1 2; do wait_for 30 "a sign of $1" is_new "$(sign)"; done
}
# Others that ended in the second in which it begins are no copies.
for _ in 1 2 3; do "$COLLECTOR" share --data "$T/one" --store "$store" >"$T/share"; done
sends one
one=$!
goes_on one
if grep -q "another process" "$T/one.out"; then fail "one process is two: $(cat "$T/one.out")"; fi
sends two
two=$!
either() { grep -q "another process, on $(hostname), sends as the same collector: it has a copy of" "$T/one.out" "$T/two.out"; }
wait_for 30 "one of two to notice" either
noticed=one other=two
grep -q "another process" "$T/one.out" || noticed=two other=one
goes_on "$other"
if grep -q "another process" "$T/$other.out"; then fail "both have stopped"; fi
# The one that has noticed it sends nothing, also where it is alone.
kill "${!other}"
wait "${!other}" || true
# (The last sign of the one that was stopped may still be on its way in the server.)
is_silent() { # for three times as long as a sign takes
	local last
	last=$(sign)
	sleep 5
	[ "$last" = "$(sign)" ]
}
wait_for 30 "the one that has noticed to be silent" is_silent
kill "${!noticed}"
wait "${!noticed}" || true
# As it is told to: the folder of one of them without share/.
rm -r "$T/two/share"
"$COLLECTOR" share --data "$T/two" --store "$store" >"$T/share" 2>&1
assert_contains "a copy without share/" "$T/share" "2 streams another collector sends already"
