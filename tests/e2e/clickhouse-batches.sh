#!/bin/bash
# 1,000 batches wait while ClickHouse is away, and are sent while servers and senders are killed again and again: to one server
# (MergeTree, which remembers nothing of what it got) and to a cluster (ReplicatedMergeTree, which is told to remember 100 blocks, as it
# does by default). The collector asks for each batch whose fate it does not know; so nothing is missing, and nothing there twice.
# ctest: LABELS full TIMEOUT 1800 COST 250
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need cluster
need cmp jq
boards=4 days=260

# A batch is what a shipment has of a day.
"$BUILD/tests/made-fleet" "$T/data" $boards $((days * 1440)) 3 7 "" 5 >"$T/made"

begin_sender() { # NAME
	"$COLLECTOR" share --data "$T/data" --store "$(store "$1")" --every 1s >>"$T/$1.out" 2>>"$T/$1.err" &
	sender=$!
}
kill_sender() {
	kill -KILL $sender
	wait $sender 2>/dev/null || true
}
batches() { clickhouse_sql 1 "SELECT uniqExact(batch) FROM $1.sums" 2>/dev/null; }
has_batches() { # NAME COUNT
	sleep 0.3 # asking costs the server more than a batch
	kill -0 $sender || fail "the sender ended: $(cat "$T/$1.err")"
	[ "$(batches "$1")" -ge "$2" ]
}
says_away() { [ -s "$T/$1.err" ]; }
# Each time a server dies, and every other time the sender does, too.
trouble() { # NAME COUNT SERVER...
	wait_for 60 "$2 batches" has_batches "$1" "$2"
	clickhouse_kill "${@:3}"
	if [ $((kills++ % 2)) = 1 ]; then
		kill_sender
		begin_sender "$1"
	fi
	sleep "$((RANDOM % 2)).$((RANDOM % 10))" # how long it is away
	clickhouse_start "${@:3}"
}
is_done() { grep -q "^$boards streams up to date" "$T/$1.out"; }
finish() { # NAME
	wait_for 120 "all batches" is_done "$1"
	kill_sender
	[ "$(wc -l <"$T/$1.err")" -le 30 ] || fail "the sender says more than once that a server is away: $(cat "$T/$1.err")"
	[ "$(batches "$1")" -ge 1000 ] || fail "only $(batches "$1") batches"
	assert_eq "rows that are there twice" 0 "$(clickhouse_sql 1 "SELECT count() - uniqExact(stream, minute, stack) FROM $1.sums")"
	assert_eq "what is there" "$calm" "$(contents "$1")"
	echo "$(batches "$1") batches; said $(wc -l <"$T/$1.err") times that a server is away"
	for question in "--step 1d" "--top function"; do
		# shellcheck disable=SC2086 # words
		"$COLLECTOR" fleet --data "$T/data" $question --json >"$T/recordings.json"
		# shellcheck disable=SC2086
		"$COLLECTOR" fleet --store "$(store "$1")" $question --json >"$T/shared.json"
		cmp "$T/recordings.json" "$T/shared.json" || fail "fleet $question says something else than the recordings"
	done
	for from in "--data $T/data" "--store $(store "$1")"; do
		# shellcheck disable=SC2086
		"$COLLECTOR" list $from --json | jq -S '.streams | sort_by(.id)[] | del(.recording_bytes, .collector, .collector_address)' >"$T/list.${from:2:4}"
	done
	cmp "$T/list.data" "$T/list.stor" || fail "list says something else than the recordings"
	[ -z "$(ls "$T/data/share" | grep shard)" ] || fail "what was sent is still there: $(ls "$T/data/share")"
}
contents() { # NAME
	clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, allocations, allocated, blocks, bytes)),
		(SELECT count() FROM $1.levels), (SELECT sum(cityHash64(stream, minute, stack, blocks, bytes)) FROM $1.levels) FROM $1.sums"
}

echo "== one server"
clickhouse_one
store() { echo "clickhouse://default@$(clickhouse_hosts)/$1"; }
began=$(date +%s%N)
"$COLLECTOR" share --data "$T/data" --store "$(store calm)" >"$T/calm.out"
calm=$(contents calm)
echo "without trouble: $(batches calm) batches in $((($(date +%s%N) - began) / 1000000)) ms"
kills=0
clickhouse_kill 1
begin_sender merge
wait_for 60 "the sender to say that all wait" says_away merge
clickhouse_start 1
for count in 5 150 300 450 600 750 900; do trouble merge $count 1; done
finish merge
clickhouse_end 1

echo "== cluster"
clickhouse_all=()
clickhouse_cluster
store() { echo "clickhouse://default@$(clickhouse_hosts)/$1?cluster=heap"; }
"$BUILD/tests/e2e-clickhouse" "$(store replicated)" prepare >"$T/prepared"
# The table of sums is made again, with a shorter memory.
for server in 1 2 3; do
	clickhouse_sql $server "SHOW CREATE TABLE replicated.sums_local FORMAT TSVRaw" | sed 's/\(deduplication_window = \)10000/\1100/' >"$T/table.$server"
	assert_contains "the table" "$T/table.$server" "ReplicatedMergeTree" "deduplication_window = 100,"
	clickhouse_sql $server "DROP TABLE replicated.sums_local"
done
for server in 1 2 3; do clickhouse_sql $server "$(cat "$T/table.$server")"; done
begin_sender replicated
trouble replicated 5 1 2
trouble replicated 150 3
trouble replicated 300 1 2 3
trouble replicated 450 2
trouble replicated 600 1 2
trouble replicated 750 3
trouble replicated 900 1 2 3
finish replicated
for server in 1 2; do clickhouse_sql $server "SYSTEM SYNC REPLICA replicated.sums_local" >"$T/sync" 2>&1 || true; done
local_rows() { clickhouse_sql "$1" "SELECT count(), sum(cityHash64(stream, minute, stack, batch)) FROM replicated.sums_local"; }
assert_eq "the replicas' rows" "$(local_rows 1)" "$(local_rows 2)"
