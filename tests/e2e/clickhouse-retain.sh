#!/bin/bash
# `gather --store` with --keep-for and --keep-size: while ClickHouse is away, what it lacks outlives its time. It goes only for want of
# space, after all that was sent, and that is said. What waits is sent when the server is back, and goes then.
# ctest: LABELS full TIMEOUT 400
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"

begin_gather() {
	"$COLLECTOR" gather --data "$T/data" --interface lo --store "$store" "$@" >"$T/gather.out" 2>"$T/gather.err" &
	collector_pid=$!
	wait_for 10 "the collector to listen" collector_listens
}
end_gather() {
	kill -INT "$collector_pid"
	wait "$collector_pid" || fail "the collector ended with $?: $(cat "$T/gather.err")"
}
record_one() {
	record bash -c 'for ((i = 0; i < 3000; i++)); do x=$x.; done' >"$T/said"
}
streams() { find "$T/data/streams" -mindepth 1 -maxdepth 1 ! -name 'removed-*' -printf '%f\n' | sort; }
in_store() { # COUNT
	[ "$("$COLLECTOR" list --store "$store" --json 2>/dev/null | jq '[.streams[] | select(.state == "ended")] | length')" = "$1" ]
}
gone() { [ ! -e "$T/data/streams/$1" ]; }
lacks() { grep -q "removed the stream $1 .*, before it was known" "$T/gather.err"; }

# One is sent, two more wait.
begin_gather
record_one
sent=$(streams)
wait_for 20 "the stream in the store" in_store 1
clickhouse_kill 1
record_one
record_one
wait_for 10 "three streams" eval '[ "$(streams | wc -l)" = 3 ]'
end_gather
waiting=$(streams | grep -v "$sent")

# The collector that begins without the server knows of none that it was sent: none is removed by its age.
touch -d '2 days ago' "$T"/data/streams/*/recording.heapcast
begin_gather --keep-for 1d
wait_for 30 "the collector to say that sums wait" grep -qE "wait (in the recordings )?until they can be sent" "$T/gather.err"
assert_eq "streams" 3 "$(streams | wc -l)"
clickhouse_start 1
wait_for 30 "all streams in the store" in_store 3
wait_for 100 "what is old and sent to go" eval '[ -z "$(streams)" ]'
for stream in $sent $waiting; do
	wait_for 10 "a word about $stream" grep -q "removed the stream $stream" "$T/gather.err"
	if lacks "$stream"; then fail "$stream was sent: $(cat "$T/gather.err")"; fi
done
in_store 3 || fail "what was removed here is not in the store"

# Want of space: the oldest goes, and it is said what that may mean.
record_one
record_one
wait_for 20 "two more streams in the store" in_store 5
end_gather
clickhouse_kill 1
first=$(cd "$T/data/streams" && ls -tr | head -n 1)
second=$(streams | grep -v "$first")
begin_gather --keep-size $(($(du -s --block-size=1 "$T/data/streams/$second" | cut -f1) * 3 / 2))
wait_for 30 "the oldest to go" gone "$first"
wait_for 10 "a word about it" lacks "$first"
[ -s "$T/data/streams/$second/recording.heapcast" ] || fail "the other one is gone, too"
end_gather
