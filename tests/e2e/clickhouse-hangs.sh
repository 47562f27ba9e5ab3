#!/bin/bash
# ClickHouse takes connections and says nothing. Who asks a collector about its own recordings does not notice, and who asks about
# others is told soon.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq curl
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
url=http://127.0.0.1:18481
made() { # FOLDER SEED
	"$BUILD/tests/made-fleet" "$T/$1" 2 20 4 "$2" >"$T/made"
	"$COLLECTOR" share --data "$T/$1" --store "$store" >"$T/share"
	"$COLLECTOR" list --data "$T/$1" --json | jq -r '.streams[0].id'
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }
here=$(made here 1)
there=$(made there 2)
"$COLLECTOR" serve --http 127.0.0.1:18481 --store "$store" --data "$T/here" >"$T/serve" 2>&1 &
wait_for 20 "the server" grep -q Serving "$T/serve"
asks() { # FILE PATH
	curl -sS -m 90 -o "$T/$1" -w '%{http_code}\n' "$url/$2" >"$T/$1.status"
}
asks before "data/$there/report"
assert_eq "a recording of another collector" 404 "$(cat "$T/before.status")"
assert_contains "a recording of another collector" "$T/before" "--page-address"

kill -STOP "${clickhouse_pids[1]}"
local_ones() { # WHILE WHAT
	local path begun took
	for path in "" list "data/$here/report" "data/$here/allocations"; do
		begun=$(now_ms)
		asks local "$path"
		took=$(($(now_ms) - begun))
		assert_eq "/$path $1" 200 "$(cat "$T/local.status")"
		[ $took -lt 2500 ] || fail "/$path took $took ms $1"
	done
}
# More than there are threads.
begun=$(now_ms)
askers=()
for i in 1 2 3 4 5 6 7 8; do
	asks "there$i" "data/$there/allocations" &
	askers+=($!)
done
sleep 0.5 # they are under way
local_ones "while others are looked up"
wait "${askers[@]}"
took=$(($(now_ms) - begun))
[ $took -lt 9000 ] || fail "eight look-ups took $took ms"
for i in 1 2 3 4 5 6 7 8; do
	assert_eq "look-up $i" 503 "$(cat "$T/there$i.status")"
	assert_contains "look-up $i" "$T/there$i" "$there is not here" "ClickHouse at $(clickhouse_hosts) does not answer (3 s)"
done
askers=()
begun=$(now_ms)
for i in shared fleet fleet/top; do
	asks "${i//\//-}" $i &
	askers+=($!)
done
sleep 0.5
local_ones "while the fleet is asked about"
kill -0 "${askers[@]}" || fail "ClickHouse answers"
# Who has waited behind one that got no answer does not wait for another one.
wait "${askers[@]}"
took=$(($(now_ms) - begun))
[ $took -lt 35000 ] || fail "three questions took $took ms"
for i in shared fleet fleet-top; do
	assert_eq "/$i" 503 "$(cat "$T/$i.status")"
	assert_contains "/$i" "$T/$i" "ClickHouse at $(clickhouse_hosts) does not answer (20 s)"
done
kill -CONT "${clickhouse_pids[1]}"
answers() {
	asks after "data/$there/report"
	grep -qF -e --page-address "$T/after"
}
wait_for 20 "it to be asked again" answers
