#!/bin/bash
# `collector gather --store`: a mistake that stays until somebody mends it (password, rights, certificate) ends it at once and says what
# to do; a server that is away does not. Such a mistake while it runs is said once; it goes on recording, and sends all in the end.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq openssl python3 cmp
CLICKHOUSE_PASSWORD=hush
clickhouse_certificate
clickhouse_kind=one
clickhouse_choose_ports 1
clickhouse_configure 1
users=$T/clickhouse-1/users.xml
host=$(clickhouse_hosts)
export HEAPCAST_CLICKHOUSE_PASSWORD=hush

# Another user, who may only look.
sed -i -e 's|</default></profiles>|</default><looking><readonly>1</readonly></looking></profiles>|' \
	-e 's|</users>|<looker><password>hush</password><networks><ip>127.0.0.1</ip></networks><profile>looking</profile><quota>default</quota></looker></users>|' \
	"$users"
clickhouse_start 1

refused() { # WHAT URL TEXT...
	local status=0
	timeout 30 "$COLLECTOR" gather --data "$T/data" --interface lo --store "$2" >"$T/refused" 2>&1 || status=$?
	assert_eq "status of gather with $1" 3 $status
	assert_contains "what gather says with $1" "$T/refused" "--store: ClickHouse at " "${@:3}"
	assert_eq "how often it is said" 1 "$(grep -c ClickHouse "$T/refused")"
	if grep -q hush "$T/refused"; then fail "an error tells the password: $(cat "$T/refused")"; fi
}
HEAPCAST_CLICKHOUSE_PASSWORD=wrong refused "a wrong password" "clickhouse://default@$host/heaps" "(code 193)" "HEAPCAST_CLICKHOUSE_PASSWORD, or password_file="
refused "a database that this user can't make" "clickhouse://looker@$host/heaps" "(code 164)" "is the name of the database right, and has the user all rights"
refused "a refused certificate" "clickhouses://default@$(clickhouse_tls_host 1)/heaps" "certificate is not trusted" "ca=PATH in the URL"
refused "a cluster that is not there" "clickhouse://default@$host/heaps?cluster=none" "knows no cluster none"
HEAPCAST_CLICKHOUSE_PASSWORD=wrong assert_status 3 timeout 30 "$COLLECTOR" share --data "$T/data" --store "clickhouse://default@$host/heaps" --every 1s

# Who may only look can ask.
"$BUILD/tests/made-fleet" "$T/made" 3 10 16 7 >"$T/made.out"
"$COLLECTOR" share --data "$T/made" --store "clickhouse://default@$host/made" >"$T/made.out"
"$COLLECTOR" fleet --data "$T/made" --top function --json >"$T/recordings.json"
"$COLLECTOR" fleet --store "clickhouse://looker@$host/made" --top function --json >"$T/shared.json"
cmp "$T/recordings.json" "$T/shared.json" || fail "who may only look is told something else"
grep -q cache_put "$T/shared.json" || fail "no function is named: $(cat "$T/shared.json")"

# A server that is away.
clickhouse_kill 1
"$COLLECTOR" gather --data "$T/data" --interface lo --store "clickhouse://default@$host/heaps" >"$T/gather.out" 2>"$T/gather.err" &
collector_pid=$!
wait_for 10 "the collector to listen" collector_listens
assert_contains "what it says of a server that is away" "$T/gather.err" "will wait in the recordings until they can be sent: ClickHouse at $host can't be reached"
clickhouse_start 1
record "$(type -P python3)" -c "print(1)" >/dev/null
in_store() { # STREAMS
	[ "$("$COLLECTOR" list --store "clickhouse://looker@$host/heaps" --json 2>/dev/null | jq '[.streams[] | select(.state == "ended")] | length')" = "$1" ]
}
wait_for 30 "the stream in the store" in_store 1
wait_for 20 "the collector to say so" grep -q "all sums are in the shared store again" "$T/gather.out"
# The password is changed, and changed back. The server reads its users anew.
sed -i 's|<default><password>hush|<default><password>other|' "$users"
wait_for 30 "the collector to say so" grep -q "code 193" "$T/gather.err"
record "$(type -P python3)" -c "print(1)" >/dev/null
recorded() { [ "$("$COLLECTOR" list --data "$T/data" --json | jq '[.streams[] | select(.state == "ended")] | length')" = 2 ]; }
wait_for 20 "a recording meanwhile" recorded
asked_again() { [ "$(clickhouse_log 1 | grep -c "Wrong password")" -gt $((refusals + 1)) ]; }
refusals=$(clickhouse_log 1 | grep -c "Wrong password")
wait_for 30 "the collector to try again" asked_again
assert_contains "what it says of the password" "$T/gather.err" "until they can be sent: ClickHouse at $host" "HEAPCAST_CLICKHOUSE_PASSWORD, or password_file="
assert_eq "how often it is said" 1 "$(grep -c "code 193" "$T/gather.err")"
sed -i 's|<default><password>other|<default><password>hush|' "$users"
wait_for 30 "both streams in the store" in_store 2
kill -INT $collector_pid
wait $collector_pid || fail "the collector ends with $?: $(cat "$T/gather.err")"
