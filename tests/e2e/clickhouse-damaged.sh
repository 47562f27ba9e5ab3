#!/bin/bash
# What was on its way to ClickHouse is damaged on the collector's disk, whether it has arrived or not, or in part: it is set aside, and
# all sums are there once in the end, as if nothing had happened. Nobody has to do anything.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need cmp
clickhouse_one
at=clickhouse://default@$(clickhouse_hosts)
share=$T/data/share

# More sums than one shipment has.
boards=80
"$BUILD/tests/made-fleet" "$T/data" $boards 90 64 7 build >"$T/made"
contents() { # DATABASE
	clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, allocations, allocated, blocks, bytes)),
		(SELECT count() FROM $1.levels), (SELECT sum(cityHash64(stream, minute, stack, blocks, bytes)) FROM $1.levels),
		(SELECT count() FROM $1.streams FINAL WHERE done = 1), (SELECT sum(in_use_bytes) FROM $1.streams FINAL),
		(SELECT sum(in_use_blocks) FROM $1.streams FINAL) FROM $1.sums"
}
send() { # DATABASE
	status=0
	"$COLLECTOR" share --data "$T/data" --store "$at/$1" >"$T/sent" 2>&1 || status=$?
}
send calm
assert_eq "status of the first pass" 0 $status
calm=$(contents calm)
sums=$(clickhouse_sql 1 "SELECT count() FROM calm.sums")

# Rows of a table whose column is missing are refused: the shipment stays.
send_without() { # DATABASE TABLE COLUMN TYPE
	clickhouse_sql 1 "ALTER TABLE $1.$2_local DROP COLUMN $3"
	send "$1"
	assert_eq "status of a pass whose $2 are refused" 3 $status
	[ -s "$share/shard-0" ] || fail "nothing is on its way: $(ls "$share"; cat "$T/sent")"
	clickhouse_sql 1 "ALTER TABLE $1.$2_local ADD COLUMN $3 $4"
}
damage() {
	printf X | dd of="$share/shard-0" bs=1 seek=$(($(stat -c %s "$share/shard-0") / 2)) conv=notrunc status=none
}
repaired() { # WHAT DATABASE
	send "$2"
	assert_eq "status of a pass after damage: $1, $(cat "$T/sent")" 0 $status
	assert_contains "what it says: $1" "$T/sent" "$share/shard-0, which held sums" "was set aside as $share/shard-0.damaged" "nothing to do"
	assert_eq "what is there: $1" "$calm" "$(contents "$2")"
	[ -z "$(ls "$share" | grep shard)" ] || fail "$1: there is still $(ls "$share")"
	send "$2"
	assert_eq "another pass: $1" "$boards streams up to date, 0 sums sent" "$(cat "$T/sent")"
}
prepared() { # DATABASE
	"$BUILD/tests/e2e-clickhouse" "$at/$1" prepare >"$T/prepared"
}

prepared none
send_without none sums base UInt8
assert_eq "sums that have arrived" 0 "$(clickhouse_sql 1 "SELECT count() FROM none.sums")"
damage
repaired "nothing had arrived" none

prepared some
send_without some streams board String
there=$(clickhouse_sql 1 "SELECT count() FROM some.sums")
echo "$there of $sums sums have arrived"
[ "$there" -gt 0 ] && [ "$there" -lt "$sums" ] || fail "no part of the sums has arrived"
: >"$share/shard-0"
repaired "some had arrived" some

# Again while that is repaired, and the next one is killed.
prepared twice
send_without twice streams board String
damage
send_without twice streams board String
[ -e "$share/shard-0.damaged" ] || fail "nothing is set aside: $(ls "$share")"
send_without twice streams board String
damage
"$COLLECTOR" share --data "$T/data" --store "$at/twice" >"$T/killed" 2>&1 &
sender=$!
set_aside() { [ ! -s "$share/shard-0" ] || ! cmp -s "$share/shard-0" "$share/shard-0.damaged"; }
wait_for 10 "the file to be set aside" set_aside
kill -9 $sender 2>/dev/null || true
wait $sender 2>/dev/null || true
send twice
assert_eq "status after it was killed: $(cat "$T/sent")" 0 $status
assert_eq "what is there after it was killed" "$calm" "$(contents twice)"
[ -z "$(ls "$share" | grep shard)" ] || fail "there is still $(ls "$share")"

# A file that can't be set aside stops it, and it says what to do.
prepared stuck
send_without stuck streams board String
damage
mkdir "$share/shard-0.damaged"
send stuck
assert_eq "status" 3 $status
assert_contains "what it says" "$T/sent" "can't be renamed to $share/shard-0.damaged" "Rename it: what it held is sent again"
rmdir "$share/shard-0.damaged"
repaired "it could not be set aside" stuck
