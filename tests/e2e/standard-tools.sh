#!/bin/bash
# A recording is a row of LZ4 frames around protobuf: lz4 and protoc read it, and see as many events as the ledger.
. "$(dirname "$0")/lib.sh"
need lz4 protoc
status=0
"$AGENT" run --quiet --output "$T/plain.heapcast" -- "$BUILD/tests/e2e-killed" 20000 >"$T/said.txt" || status=$?
assert_eq "exit status of the target" 137 "$status"

lz4 -dc "$T/plain.heapcast" >"$T/whole.bin"
protoc --decode=heapcast.Recording --proto_path="$ROOT/proto" heapcast.proto <"$T/whole.bin" >"$T/whole.txt"
[ "$(grep -c '^batch {' "$T/whole.txt")" -gt 0 ] || fail "protoc shows no batch"
if grep -qE '^ *[0-9]+: ' "$T/whole.txt"; then fail "protoc finds fields that heapcast.proto does not have"; fi

# Events.count of all batches, and what the last Ledger says was delivered.
events=$(awk '/^  events \{/ { inside = 1 } inside && /^    count:/ { sum += $2; inside = 0 } END { print sum + 0 }' "$T/whole.txt")
delivered=$(awk '/^  ledger \{/ { inside = 1 } inside && /^    delivered:/ { last = $2; inside = 0 } END { print last + 0 }' \
	"$T/whole.txt")
assert_eq "events that protoc counts, and the ledger" "$delivered" "$events"
[ "$events" -ge 60000 ] || fail "only $events events"

assert_status 0 "$COLLECTOR" ledger "$T/plain.heapcast" --json >"$T/ledger.json"
assert_eq "events that the collector counts" "$events" \
	"$(grep -o '"stored": *[0-9]*' "$T/ledger.json" | head -n 1 | grep -o '[0-9]*$')"
