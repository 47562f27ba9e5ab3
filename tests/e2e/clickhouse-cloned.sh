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
passes() { [ "$(grep -c "up to date" "$T/$1.out")" -ge "$2" ]; }
sends one
one=$!
wait_for 20 "three passes of one" passes one 3
if grep -q "another process" "$T/one.out"; then fail "one process is two: $(cat "$T/one.out")"; fi
sends two
two=$!
either() { grep -q "another process, on $(hostname), sends as the same collector: it has a copy of" "$T/one.out" "$T/two.out"; }
wait_for 30 "one of two to notice" either
noticed=one other=two
grep -q "another process" "$T/one.out" || noticed=two other=one
said=$(grep -c "up to date" "$T/$other.out")
wait_for 30 "the other one to go on" passes $other $((said + 3))
if grep -q "another process" "$T/$other.out"; then fail "both have stopped"; fi
sed '1,/another process/d' "$T/$noticed.out" >"$T/after"
if grep -q "up to date" "$T/after"; then fail "it went on: $(cat "$T/after")"; fi
kill $one $two
wait $one $two || true
# As it is told to: the folder of one of them without share/.
rm -r "$T/two/share"
"$COLLECTOR" share --data "$T/two" --store "$store" >"$T/share" 2>&1
assert_contains "a copy without share/" "$T/share" "2 streams another collector sends already"
