#!/bin/bash
# Mappings go to the collector beside the heap: stored, the account balances, and no number of the heap knows of them.
. "$(dirname "$0")/lib.sh"
"$AGENT" run --quiet --output "$T/x.heapcast" -- "$BUILD/targets/mappings" >"$T/said"
assert_status 0 "$COLLECTOR" ledger --json "$T/x.heapcast" >"$T/ledger"
assert_eq "events apart from the heap" 17 "$(grep -o '"stored_apart": *[0-9]*' "$T/ledger" | grep -o '[0-9]*$')"
"$COLLECTOR" report --json "$T/x.heapcast" >"$T/report"
"$COLLECTOR" export --format json --with-stacks "$T/x.heapcast" >"$T/rows"
assert_contains "blocks of the heap" "$T/rows" '"malloc"'
for word in 1099511627776 mmap munmap sbrk; do
	assert_eq "$word among the blocks of the heap" 0 "$(cat "$T/report" "$T/rows" | grep -c -w "$word" || true)"
done
