#!/bin/bash
# `collector gather --store`: what agents record is in ClickHouse soon, to the byte; while the server is away, nothing is lost, agents
# are not slowed, and the collector says what waits, once; `serve --store` without recordings answers for all.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need python3 jq
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
cat >"$T/program.py" <<'END'
import sys, time
kept, end = [], time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    kept.append([bytes(3000 + k) for k in range(20)])
    if len(kept) > 50:
        kept.pop(0)
    time.sleep(0.01)
END

"$COLLECTOR" gather --data "$T/data" --interface lo --store "$store" >"$T/gather.out" 2>"$T/gather.err" &
collector_pid=$!
wait_for 10 "the collector to listen" collector_listens
record "$(type -P python3)" "$T/program.py" 3 >/dev/null

in_store() { # STREAMS
	[ "$("$COLLECTOR" list --store "$store" --json 2>/dev/null | jq '[.streams[] | select(.state == "ended")] | length')" = "$1" ]
}
same_in_use() {
	"$COLLECTOR" list --data "$T/data" --json | jq -S '[.streams[] | {id, in_use_bytes, in_use_blocks, events}] | sort' >"$T/here.list"
	"$COLLECTOR" list --store "$store" --json | jq -S '[.streams[] | {id, in_use_bytes, in_use_blocks, events}] | sort' >"$T/shared.list"
	diff "$T/here.list" "$T/shared.list" >&3 || fail "the shared store has other streams than the folder"
	[ "$(jq '.[0].in_use_bytes' "$T/here.list")" -gt 100000 ] || fail "nothing was in use: $(cat "$T/here.list")"
}
wait_for 20 "the stream in the store" in_store 1
same_in_use

# The server is away. What an agent records meanwhile goes to the collector's disk, and waits there.
clickhouse_kill 1
record "$(type -P python3)" "$T/program.py" 3 >/dev/null
record "$(type -P python3)" "$T/program.py" 1 >/dev/null
"$COLLECTOR" list --data "$T/data" --json | jq -r '.streams[].incomplete // ""' | grep -q Incomplete && fail "a recording lost something"
wait_for 20 "the collector to say so" grep -q "wait until they can be sent" "$T/gather.err"
assert_contains "what the collector says" "$T/gather.err" "can't be reached" "The recordings keep them ("
sleep 6
assert_eq "how often it is said" 1 "$(grep -c "wait until" "$T/gather.err")"

# It is there again.
clickhouse_start 1
wait_for 30 "all streams in the store" in_store 3
same_in_use
wait_for 10 "the collector to say so" grep -q "all sums are in the shared store again, after 0 min: " "$T/gather.out"

# A page that has no recordings of its own.
"$COLLECTOR" serve --http 127.0.0.1:18444 --store "$store" --data "$T/none" >"$T/serve.out" 2>&1 &
wait_for 10 "the server" grep -q Serving "$T/serve.out"
curl -sS "http://127.0.0.1:18444/shared" >"$T/shared.json"
jq -e 'length == 3 and all(.[]; .collector != "" and .collector_away_since_ns == 0 and .final_allocated > 0)' "$T/shared.json" >/dev/null ||
	fail "/shared: $(cat "$T/shared.json")"
curl -sS "http://127.0.0.1:18444/fleet?step=1m&align=start" >"$T/fleet.json"
# A stream is in it if it saw a full minute of the clock.
jq -e '.report.streams >= 1 or (.note | length > 0)' "$T/fleet.json" >/dev/null || fail "/fleet: $(cat "$T/fleet.json")"
clickhouse_kill 1
assert_eq "status of /shared while the server is away" 503 "$(curl -sS -o "$T/away.json" -w '%{http_code}' "http://127.0.0.1:18444/shared")"
assert_contains "what it says" "$T/away.json" "can't be reached"
clickhouse_start 1

# The last sums are sent when the collector ends.
record "$(type -P python3)" "$T/program.py" 1 >/dev/null
kill -INT $collector_pid
wait $collector_pid || fail "the collector ends with $?: $(cat "$T/gather.err")"
in_store 4 || fail "the last stream is not in the store"
same_in_use
