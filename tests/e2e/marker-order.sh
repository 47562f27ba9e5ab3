#!/bin/bash
# A mark and the allocations around it are in the order in which the program said and made them, however near they are.
# Births are kept in microseconds, and a program may say several marks in one. Checked in a file, in a stripped
# recording, in one that a collector received, and with the flight recorder, with a pause of 3,000 ns before each mark.
. "$(dirname "$0")/lib.sh"

# RECORDING BLOCKS: all of them bear the marker that the program had said last.
in_order() {
	local said
	said=$("$COLLECTOR" sql --csv "$1" "select count(*), sum(marker != size - 1000) from allocations where size between 1001 and 1500" | tail -n 1 | tr -d '\r')
	echo "$1: of ${said%,*} blocks ${said#*,} have another marker" >&3
	assert_eq "blocks of $1, and those with another marker" "$2,0" "$said"
}

"$AGENT" run --quiet --output "$T/full" -- "$TARGETS/marker_order" 20
in_order "$T/full" 20000
"$COLLECTOR" strip --threshold 1ns -o "$T/stripped" "$T/full" >/dev/null
said=$("$COLLECTOR" sql --csv "$T/stripped" "select count(*) > 0, sum(marker != size - 1000) from allocations where size between 1001 and 1500" | tail -n 1 | tr -d '\r')
assert_eq "blocks of a stripped one" "1,0" "$said"
"$AGENT" run --quiet --flight 60s --output "$T/flight" -- "$TARGETS/marker_order" 4 3000
in_order "$T/flight" 4000
start_collector
"$AGENT" run --announce --interface lo --quiet --policy block -- "$TARGETS/marker_order" 20
wait_collector
said=$(ask sql --csv last "select count(*), sum(marker != size - 1000) from allocations where size between 1001 and 1500" | tail -n 1 | tr -d '\r')
assert_eq "blocks that a collector received, and those with another marker" "20000,0" "$said"
