#!/bin/bash
# ctest: TIMEOUT 300 COST 50
# The collector's client of ClickHouse when servers die, stop, or lose their coordinator: which kind of error that is, that another
# replica takes over, and that rows which are sent again are there once.
many=${HEAPCAST_TEST_FULL:+1000} # lib.sh takes such variables away
many=${many:-10}
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need cluster
need openssl
CLIENT=$BUILD/tests/e2e-clickhouse
A=00112233445566778899aabbccddeeff # lies on shard 0 of 2
B=01112233445566778899aabbccddeeff # on shard 1
DAY=20000

says_in_the_end() { # EXPECTED CLIENT-ARGUMENT...
	[ "$("$CLIENT" "${@:2}")" = "$1" ]
}

echo "== one server"
clickhouse_certificate
clickhouse_one
host=$(clickhouse_hosts)
one=clickhouse://$host/heap
tls=clickhouses://$(clickhouse_tls_host 1)/heap
says "shards 1" "$tls?ca=$T/cert.pem" prepare
says "shard 0" "$tls?ca=$T/cert.pem" insert 1 $A $DAY 10
fails "untrusted 0" "$tls" prepare
fails "certificate is not trusted" "$tls" prepare
fails "ca=PATH in the URL" "$tls" prepare
fails "untrusted 0" "$tls?ca=$T/none.pem" prepare
fails "untrusted 0" "${tls/localhost/127.0.0.1}?ca=$T/cert.pem" prepare # the certificate is another's
fails 0 "clickhouses://$host/heap" prepare                                # no TLS there

# A kept connection dies with its server.
mkfifo next
"$CLIENT" "$one" pause "SELECT 1" "SELECT 2" <next >paused &
paused=$!
exec 5>next
wait_for 10 "the first answer" test -s paused
clickhouse_kill 1
echo >&5
exec 5>&-
wait $paused && fail "a dead server answered"
assert_contains "the answers" paused "unreachable 0: ClickHouse at $host can't be reached"

clickhouse_start 1
"$CLIENT" "$one" sql 0 "SELECT sleep(3) FROM system.numbers LIMIT 60" >killed &
waiting=$!
runs() {
	[ "$(clickhouse_sql 1 "SELECT count() FROM system.processes WHERE query LIKE '%sleep(3) FROM%'")" = 2 ]
}
wait_for 10 "the query to run" runs
clickhouse_kill 1
wait $waiting && fail "a killed server answered"
assert_contains "the error" killed "unknown 0: ClickHouse at $host"

clickhouse_start 1
kill -STOP "${clickhouse_pids[1]}"
PATIENCE_MS=300 fails "unknown 0" "$one" sql 0 "SELECT 1"
kill -CONT "${clickhouse_pids[1]}"
says "rows 10, behind 0" "$one" find 1 $A $DAY
clickhouse_end 1
rm "$T/cert.pem"

echo "== cluster"
clickhouse_all=()
clickhouse_cluster
hosts=$(clickhouse_hosts)
all=clickhouse://$hosts/heap?cluster=heap
replicas_agree() { # ROWS
	[ "$(clickhouse_sql 1 "SELECT count() FROM heap.sums_local")" = "$1" ] && [ "$(clickhouse_sql 2 "SELECT count() FROM heap.sums_local")" = "$1" ]
}

# A replica is away from the start. It gets its tables when it is back.
clickhouse_kill 2
says "shards 2" "$all" prepare
says "shard 0" "$all" insert 1 $A $DAY 100
clickhouse_start 2
says "shards 2" "$all" prepare
wait_for 20 "the replica to catch up" replicas_agree 100

# The other one takes over.
clickhouse_kill 1
says "shard 0" "$all" insert 2 $A $DAY 100
assert_contains "what is there" <("$CLIENT" "$all" find 2 $A $DAY) "rows 100"
clickhouse_kill 3
fails "unreachable 0" "$all" insert 3 $B $DAY 100
says "shards 2" "$all" prepare # one server that can be reached is enough
fails "unreachable 0" "$all" insert 5 $B $DAY 10
clickhouse_start 1 3
wait_for 20 "the replica to catch up" replicas_agree 200

echo "== a shard is away"
says "300" "$all" ask "SELECT count() + 100 FROM sums"$'\n'
"$CLIENT" "$all" pause "SELECT 1" "SELECT count() FROM heap.sums" <next >paused &
paused=$!
exec 5>next
wait_for 10 "the first answer" test -s paused
clickhouse_kill 3
echo >&5
exec 5>&-
wait $paused && fail "a question about all shards was answered without one"
assert_contains "the answers" paused "busy 279"
clickhouse_start 3

echo "== many batches"
began=$(date +%s%N)
says $many "$all" many 1000 $A $DAY 10 $many
echo "$many batches in $((($(date +%s%N) - began) / 1000000)) ms"
wait_for 20 "the replica to catch up" replicas_agree $((200 + 10 * many))
# By default a server would remember 100. It forgets the others once a second here (lib-clickhouse.sh), and 1,000 batches, with --full,
# take longer.
says 2 "$all" many 1000 $A $DAY 10 2
says 2 "clickhouse://$(clickhouse_hosts 2 1 3)/heap?cluster=heap" many 1000 $A $DAY 10 2
wait_for 20 "the replicas to agree" replicas_agree $((200 + 10 * many))

echo "== no coordinator"
zookeeper_kill
PATIENCE_MS=20000 "$CLIENT" "$all" insert 5 $A $DAY 100 >failed && fail "an insert without a coordinator went well"
grep -qE '^(unknown|busy) ' failed || fail "without its coordinator: $(cat failed)"
cat failed
zookeeper_start
wait_for 30 "the server to take rows again" says_in_the_end "shard 0" "$all" insert 5 $A $DAY 100
says "shard 0" "$all" insert 5 $A $DAY 100
wait_for 20 "the replicas to agree" replicas_agree $((300 + 10 * many))
