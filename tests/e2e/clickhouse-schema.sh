#!/bin/bash
# ctest: TIMEOUT 300 COST 20
# The collector's client of ClickHouse against real servers: the schema is made, by several at the same time, and migrated; batches
# are written, found and dropped. On one server, and on a cluster of two shards, the first of which has two replicas.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need cluster
CLIENT=$BUILD/tests/e2e-clickhouse
A=00112233445566778899aabbccddeeff # lies on shard 0 of 2
B=01112233445566778899aabbccddeeff # on shard 1
DAY=20000                          # 2024-10-04

# Some clients at once; each must succeed.
together() { # CLIENT-ARGUMENT...
	local i pids=() pid
	for i in 1 2 3; do
		"$CLIENT" "$@" >together.$i 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || fail "one of three at once: $(cat together.*)"; done
}

tables() { # N DATABASE
	clickhouse_sql "$1" "SELECT engine, count() FROM system.tables WHERE database = '$2' GROUP BY engine ORDER BY engine" |
		tr '\t\n' '  '
}

columns() { # N DATABASE TABLE
	clickhouse_sql "$1" "SELECT count() FROM system.columns WHERE database = '$2' AND table = '$3'"
}

same() { # WHAT N SQL EXPECTED
	assert_eq "$1" "$4" "$(clickhouse_sql "$2" "$3")"
}

echo "== one server"
CLICKHOUSE_PASSWORD=hush/%41
clickhouse_one
host=$(clickhouse_hosts)
one=clickhouse://default:hush%2F%2541@$host/heap
fails "denied 193" "clickhouse://default:hush@$host/heap" prepare
fails "denied 194" "clickhouse://$host/heap" prepare
HEAPCAST_CLICKHOUSE_PASSWORD=$CLICKHOUSE_PASSWORD says "shards 1" "clickhouse://$host/heap_0" prepare
(umask 077 && echo "$CLICKHOUSE_PASSWORD" >password)
says "shards 1" "clickhouse://$host/heap_0?password_file=$T/password" prepare

together "$one" prepare
assert_eq "tables" "Merge 8 MergeTree 3 ReplacingMergeTree 6 " "$(tables 1 heap)"
same "version of the schema" 1 "SELECT max(version) FROM heap.schema_versions" 5
says "shard 0" "$one" insert 7 $A $DAY 1000
says "rows 1000, behind 0" "$one" find 7 $A $DAY
says "rows 0, behind 0" "$one" find 8 $A $DAY
says "rows 1000, behind 0" "$one" find 7 $A $DAY
same "sums" 1 "SELECT count(), sum(allocations), sum(allocated), sum(blocks), sum(bytes), min(minute), max(minute), lower(hex(any(stream))), any(day)
	FROM heap.sums FORMAT CSV" "1000,2000,100000,1000,-50000,28800000,28800999,\"$A\",\"2024-10-04\""
# Without replicas nothing keeps a server from storing a batch twice.
says "shard 0" "$one" insert 7 $A $DAY 1000
says "rows 2000, behind 0" "$one" find 7 $A $DAY

says "shard 0" "$one" insert 9 $B $((DAY + 1)) 10
says "dropped 0" "$one" drop $DAY
says "dropped 1" "$one" drop $((DAY + 1))
says "rows 0, behind 0" "$one" find 7 $A $DAY
says "rows 10, behind 0" "$one" find 9 $B $((DAY + 1))

echo "== refusals"
fails "refused 62: ClickHouse at $host: Syntax error" "$one" sql 0 "SELECT FROM WHERE"
fails "refused 395" "$one" sql 0 "SELECT throwIf(number = 3000000) FROM system.numbers LIMIT 4000000"
fails "EMSGSIZE" "$one" sql 0 "SELECT number FROM system.numbers LIMIT 100000"
fails "knows no cluster none" "$one?cluster=none" prepare
clickhouse_sql 1 "DROP DATABASE heap_0"
fails "refused 81" "clickhouse://default:hush%2F%2541@$host/heap_0" pause "SELECT 1" "INSERT INTO heap_0.sums_local FORMAT TSV" <<<""

echo "== migration"
# Tables of version 1: rows that are there say nothing of batches, and there are no levels.
clickhouse_sql 1 "DROP TABLE heap.levels"
clickhouse_sql 1 "DROP TABLE heap.levels_local"
for column in incarnation next_batch first_incarnation first_batch bound_incarnation bound_batch; do
	clickhouse_sql 1 "ALTER TABLE heap.streams_local DROP COLUMN $column"
done
clickhouse_sql 1 "ALTER TABLE heap.sums_local DROP COLUMN variance"
for table in streams sums; do
	clickhouse_sql 1 "DROP TABLE heap.$table"
	clickhouse_sql 1 "CREATE TABLE heap.$table AS heap.${table}_local ENGINE = Merge('heap', '^${table}_local$')"
done
clickhouse_sql 1 "DROP TABLE heap.schema_versions"
clickhouse_sql 1 "CREATE TABLE heap.schema_versions (version UInt32, at DateTime) ENGINE = MergeTree ORDER BY version"
clickhouse_sql 1 "INSERT INTO heap.schema_versions SELECT toUInt32(1), now()"
clickhouse_sql 1 "INSERT INTO heap.streams_local (stream, name) VALUES (unhex('$A'), 'old')"
assert_eq "columns of streams" "27 27" "$(columns 1 heap streams) $(columns 1 heap streams_local)"
together "$one" prepare
same "version of the schema" 1 "SELECT max(version) FROM heap.schema_versions" 5
assert_eq "columns of streams" "33 33" "$(columns 1 heap streams) $(columns 1 heap streams_local)"
assert_eq "columns of levels" "12 12" "$(columns 1 heap levels) $(columns 1 heap levels_local)"
same "an old row" 1 "SELECT name, incarnation, next_batch, bound_batch FROM heap.streams FORMAT CSV" '"old",0,0,0'
together "$one" prepare next
same "version of the schema" 1 "SELECT max(version) FROM heap.schema_versions" 6
assert_eq "columns of sums" "13 13" "$(columns 1 heap sums) $(columns 1 heap sums_local)"
says "shards 1" "${one/heap/heap_3}" prepare
fails "update this collector" "$one" prepare
clickhouse_end 1

echo "== cluster"
CLICKHOUSE_PASSWORD=
clickhouse_all=()
began=$(date +%s%N)
clickhouse_cluster
echo "ZooKeeper and three servers answer after $((($(date +%s%N) - began) / 1000000)) ms"
hosts=$(clickhouse_hosts)
all=clickhouse://$hosts/heap?cluster=heap
fails "the URL names 2 of them" "clickhouse://$(clickhouse_hosts 1 3)/heap?cluster=heap" prepare
fails "are the same one" "clickhouse://$hosts,localhost:${hosts##*:}/heap?cluster=heap" prepare
together "$all" prepare
for n in 1 2 3; do
	assert_eq "tables of server $n" "Distributed 8 MergeTree 1 ReplicatedMergeTree 2 ReplicatedReplacingMergeTree 6 " "$(tables $n heap)"
done
says "shards 1" "clickhouse://$(clickhouse_hosts 3)/single" prepare
fails "another kind of installation" "${all/heap?/single?}" prepare

says "shard 0" "$all" insert 1 $A $DAY 100
says "shard 1" "$all" insert 2 $B $DAY 200
assert_contains "what is there" <("$CLIENT" "$all" find 1 $A $DAY) "rows 100"
assert_contains "what is there" <("$CLIENT" "$all" find 2 $B $DAY) "rows 200"
for n in 1 2 3; do same "rows that server $n shows" $n "SELECT count() FROM heap.sums" 300; done
same "rows of the second shard" 3 "SELECT count() FROM heap.sums_local" 200
replicas_agree() { # ROWS
	[ "$(clickhouse_sql 1 "SELECT count() FROM heap.sums_local")" = "$1" ] && [ "$(clickhouse_sql 2 "SELECT count() FROM heap.sums_local")" = "$1" ]
}
wait_for 10 "the replicas to have the same rows" replicas_agree 100
# The same rows once more are not stored, whichever replica gets them.
says "shard 0" "$all" insert 1 $A $DAY 100
says "shard 0" "clickhouse://$(clickhouse_hosts 2 1 3)/heap?cluster=heap" insert 1 $A $DAY 100
wait_for 10 "the replicas to have the same rows" replicas_agree 100

says "shard 0" "$all" insert 3 $A $((DAY + 1)) 10
says "dropped 2" "$all" drop $((DAY + 1))
wait_for 10 "the replicas to drop the day" replicas_agree 10
same "rows that are left" 3 "SELECT count() FROM heap.sums" 10

together "$all" prepare next
for n in 1 2 3; do assert_eq "columns of server $n" "13 13" "$(columns $n heap sums) $(columns $n heap sums_local)"; done
same "rows with the new column" 3 "SELECT count(), sum(moved) FROM heap.sums FORMAT CSV" 10,0
