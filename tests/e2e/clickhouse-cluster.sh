#!/bin/bash
# Sums that collectors share, in a cluster of ClickHouse: two shards, of which one has a replica. A server of each kind is killed while
# sums are sent, and comes back: answers are those of the recordings, byte for byte, nothing is there twice, the replicas agree, and a
# shard that is away is said. Two collectors send at the same time.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need cluster
need cmp
clickhouse_cluster
store="clickhouse://default@$(clickhouse_hosts)/heaps?cluster=heap"

# Two collectors with 30 boards each, and both folders in one, which is what all answers are compared with.
"$BUILD/tests/made-fleet" "$T/all" 60 30 64 7 build >"$T/made"
for part in a b; do mkdir -p "$T/$part/streams"; done
count=0
for stream in "$T"/all/streams/*; do
	count=$((count + 1))
	[ $((count % 2)) = 0 ] && part=a || part=b
	cp -r "$stream" "$T/$part/streams/"
done
"$COLLECTOR" fleet --data "$T/all" --step 1m --json >"$T/recordings.json"

share() { # FOLDER
	"$COLLECTOR" share --data "$T/$1" --store "$store" >>"$T/share.$1" 2>&1
}
trouble() { # SERVER
	local status_a=0 status_b=0 a b
	share a & a=$!
	share b & b=$!
	sleep "0.$((RANDOM % 4 + 1))"
	clickhouse_kill "$1"
	wait $a || status_a=$?
	wait $b || status_b=$?
	[[ "$status_a$status_b" =~ ^[03][03]$ ]] || fail "senders end with $status_a and $status_b: $(cat "$T"/share.?)"
}
# What shard 2 says of itself while it is away.
away() {
	local status=0
	"$COLLECTOR" fleet --store "$store" --step 1m >"$T/away" 2>&1 || status=$?
	[ $status = 3 ] || fail "fleet without a shard ends with $status: $(cat "$T/away")"
	# By the port of HTTP, or by the one at which servers ask each other.
	grep -Eq "127.0.0.1:[0-9]+.*(refused|can.t be reached)|refused.*127.0.0.1:[0-9]+" "$T/away" || fail "fleet without a shard says: $(cat "$T/away")"
}
same_answers() {
	"$COLLECTOR" fleet --store "$store" --step 1m --json >"$T/shared.json"
	cmp "$T/recordings.json" "$T/shared.json" || fail "fleet says something else than the recordings"
}

"$BUILD/tests/e2e-clickhouse" "$store" prepare >"$T/prepared"
trouble 1
clickhouse_start 1
trouble 3
away
share a && share b && fail "a shard is away, and the senders do not say so"
grep -Eq "could not be sent yet|not caught up" "$T"/share.? || fail "a sender without a shard says: $(cat "$T"/share.?)"
clickhouse_start 3
trouble 2
# What server 2 alone has accepted is not known without it: senders wait for it.
clickhouse_start 2
wait_for 20 "a to send all" share a
wait_for 20 "b to send all" share b
same_answers

# Each stream's sums are on one shard, once; both replicas of the first shard have the same.
contents() { # SERVER
	clickhouse_sql "$1" "SELECT count(), uniqExact(stream), uniqExact(stream, minute, stack),
		sum(cityHash64(stream, minute, stack, allocations, allocated, blocks, bytes)) FROM heaps.sums_local"
}
same_contents() { # a replica that was killed may still be fetching
	one=$(contents 1) two=$(contents 2)
	[ "$one" = "$two" ]
}
wait_for 30 "both replicas to have the same" same_contents
three=$(contents 3)
read -r rows streams places _ <<<"$one"
read -r rows_3 streams_3 places_3 _ <<<"$three"
[ "$rows" = "$places" ] && [ "$rows_3" = "$places_3" ] || fail "sums are there twice: $one; $three"
[ $((streams + streams_3)) = 60 ] && [ "$streams" -gt 5 ] && [ "$streams_3" -gt 5 ] || fail "streams by shard: $streams, $streams_3"

# All are listed, and what no minute has come of is counted, whichever shard has it.
for n in 1 3; do
	clickhouse_sql $n "INSERT INTO heaps.streams_local (stream, collector, version, name) SELECT toFixedString(unhex('eeeeeeeeeeeeeeeeeeeeeeeeeeeeee0$n'), 16), 1, 1, 'fresh'"
done
"$COLLECTOR" list --store "$store" >"$T/list"
assert_eq "streams in the list" 60 "$(grep -c ' gateway ' "$T/list")"
assert_eq "tables in the list" 2 "$(grep -c '^On ' "$T/list")"
assert_contains "streams that wait" "$T/list" "of 2 more streams"
