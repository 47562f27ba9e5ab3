#!/bin/bash
# Only LD_PRELOAD was typed. One person waits for one recording, so the agent that the library starts lets the program
# wait when the ring is full. Nothing is lost.
. "$(dirname "$0")/lib.sh"
need python3
ended() {
	"$COLLECTOR" ledger "$T/recording" | grep -q "^End: exited"
}
churn='
blocks = []
for turn in range(60):
    blocks = [bytearray(600 + i % 64) for i in range(2000)]
print(len(blocks))'

HEAPCAST_OUTPUT=$T/recording HEAPCAST_MEMORY_LIMIT=2M LD_PRELOAD=$PRELOAD \
	"$(readlink -f "$(command -v python3)")" -c "$churn" >"$T/alone.out"
assert_eq "standard output" 2000 "$(cat "$T/alone.out")"
wait_for 20 "the recording to be whole" ended
assert_status 0 "$COLLECTOR" ledger "$T/recording" >"$T/ledger.txt"
lost=$(awk '$1 == "lost" { print $2 }' "$T/ledger.txt")
produced=$(awk '$1 == "produced" { gsub(",", "", $NF); print $NF }' "$T/ledger.txt")
assert_eq "lost events" 0 "$lost"
[ "$produced" -gt 200000 ] || fail "that was no churn: $produced events"
