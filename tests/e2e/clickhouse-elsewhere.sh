#!/bin/bash
# Several collectors share a data base. Who asks one of them about a recording that another has is sent there, or is told where it is
# and since when that collector has been away.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
ADDRESS=http://127.0.0.1:18461 # of the collector that has the recordings
ASKED=http://127.0.0.1:18462   # of the one that is asked

serve() { # PORT DATA
	"$COLLECTOR" serve --http "127.0.0.1:$1" --store "$store" --data "$2" >"$T/serve$1.out" 2>&1 &
	wait_for 10 "the server at $1" grep -q Serving "$T/serve$1.out"
}
# What the other collector answers: the status, then what it says.
asks() { # PATH
	curl -sS -o "$T/said" -w '%{http_code}' "$ASKED/$1"
	echo
	cat "$T/said"
}
# Writes what a collector says of itself, as of so many seconds ago.
collector_row() { # ADDRESS SECONDS
	clickhouse_sql 1 "TRUNCATE TABLE heaps.collectors_local"
	clickhouse_sql 1 "INSERT INTO heaps.collectors_local (collector, version, name, address, keep_days) VALUES
		(reinterpretAsUInt64(reverse(unhex('$(cat "$T/all/share/collector")'))), (toUInt64(now()) - $2) * 1000000000, 'desk1', '$1', 0)"
}

"$BUILD/tests/made-fleet" "$T/all" 3 30 16 3 build
"$COLLECTOR" share --data "$T/all" --store "$store" --page-address $ADDRESS
id=$("$COLLECTOR" list --data "$T/all" --json | jq -r '.streams[0].id')
mkdir "$T/none"
serve 18461 "$T/all"
serve 18462 "$T/none"

# It goes on there: the same answer as asked there, with parameters that need encoding, and with a body.
question="allocations?count=3&function=a%26b%3D%2F%20c*&sort_by=size"
curl -sS "$ADDRESS/data/$id/$question" >"$T/there"
assert_eq "redirected" "307 $ADDRESS/data/$id/allocations?count=3&function=a%26b%3D%2F%20c%2A&sort_by=size" \
	"$(curl -sS -o /dev/null -w '%{http_code} %{redirect_url}' "$ASKED/data/$id/$question")"
curl -sSL "$ASKED/data/$id/$question" | cmp - "$T/there" || fail "another answer than there"
curl -sS "$ADDRESS/data/$id/report" >"$T/there"
curl -sSL "$ASKED/data/${id:0:12}/report" | cmp - "$T/there" || fail "another answer by the beginning of the id"
curl -sSL -d 'select size from allocations' "$ASKED/data/$id/sql?count=3" >"$T/counted"
jq -e '.row_count == 3 and .cut' "$T/counted" >/dev/null || fail "SQL: $(cat "$T/counted")"
assert_eq "the page's link" $ADDRESS "$(curl -sS "$ASKED/shared" | jq -r '.[0].collector_address')"

echo "== where nothing is found"
asks "data/ffffffffffffffffffffffffffffffff/report" >"$T/asked"
assert_contains "nobody has it" "$T/asked" "404" "no recording begins with"
clickhouse_kill 1
asks "data/$id/report" >"$T/asked"
assert_contains "the data base is away" "$T/asked" "503" "$id is not here" "can't be reached"
clickhouse_start 1

echo "== a collector that is away, or has no address"
list() { "$COLLECTOR" list --store "$store" "$@" >"$T/list"; }
list
assert_contains "the list" "$T/list" "On $(hostname) ($ADDRESS):" "gw-002"
collector_row $ADDRESS 3600
list
assert_contains "the list" "$T/list" "On desk1 ($ADDRESS), away since $(date -d '-1 hour' +'%Y-%m-%d %H')"
[ "$(wc -L <"$T/list")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$T/list")"
list --json
jq -e ".streams | length == 3 and all(.collector == \"desk1\" and .collector_address == \"$ADDRESS\" and .collector_away_since_ns > 1e18)" \
	"$T/list" >/dev/null || fail "list --json: $(cat "$T/list")"
asks "data/$id/report" >"$T/asked"
assert_contains "away" "$T/asked" "503" "the recording is on desk1, away since $(date -u -d '-1 hour' +%Y-%m-%dT)"
collector_row "" 0
asks "data/$id/report" >"$T/asked"
assert_contains "no address" "$T/asked" "404" "the recording is on desk1" "--page-address"
# An address that leads back to who is asked.
for address in $ASKED "http://LOCALHOST:18462"; do
	collector_row "$address" 0
	curl -sS -L --max-redirs 5 -w ' %{http_code}' "${address,,}/data/$id/report" >"$T/asked"
	assert_contains "a circle" "$T/asked" " 404" "the recording is on desk1, and the address of that one's page, $address, leads here"
done
# What stands in the data base may be anybody's: such an address is none.
for address in 'javascript:alert(1)' 'https://a b' 'https://desk1/"><script>' 'https://desk1\r\nset-cookie: a=b' 'https://' 'https://user@desk1'; do
	collector_row "$address" 0
	asks "data/$id/report" >"$T/asked"
	assert_contains "the address $address" "$T/asked" "404" "--page-address"
	assert_eq "the address $address" null "$(curl -sS "$ASKED/shared" | jq -r '.[0].collector_address')"
done
fails_with() { # TEXT COMMAND...
	"${@:2}" 2>"$T/error" && fail "this was taken: ${*:2}"
	assert_contains "the error" "$T/error" "$1"
}
for wrong in desk1:8443 https://desk1/ 'https://' ftp://desk1; do
	fails_with "--page-address takes" "$COLLECTOR" share --data "$T/all" --store "$store" --page-address "$wrong"
	fails_with "--page-address takes" "$COLLECTOR" gather --data "$T/all" --store "$store" --page-address "$wrong"
done

echo "== streams of which no minute is complete"
clickhouse_sql 1 "INSERT INTO heaps.streams_local (stream, collector, version, name, host) SELECT toFixedString(unhex(concat('eeeeeeeeeeeeeeeeeeeeeeeeeeeeee0', toString(number))), 16), 1, 1, 'fresh', 'gw-9'
	FROM numbers(2)" 2>"$T/error" || fail "$(cat "$T/error")"
list
assert_contains "streams that wait" "$T/list" "gw-002" "No sums have come yet of 2 more streams:"
list --select name=fresh
assert_contains "none but those" "$T/list" "No sums have come yet of 2 streams: those of a minute"
for question in "" "--top function"; do
	# shellcheck disable=SC2086
	assert_status 1 "$COLLECTOR" fleet --store "$store" $question --select name=fresh 2>"$T/none.said"
	assert_contains "fleet $question" "$T/none.said" "no sums have come yet of 2 streams: those of a minute"
	# shellcheck disable=SC2086
	assert_status 1 "$COLLECTOR" fleet --store "$store" $question --select name=none 2>"$T/none.said"
	assert_contains "fleet $question" "$T/none.said" "there are no such streams"
done
list --select name=none
assert_contains "none" "$T/list" "No stream matches --select."
"$COLLECTOR" share --data "$T/all" --store "${store%/*}/empty" >"$T/error" 2>&1 || fail "$(cat "$T/error")"
clickhouse_sql 1 "TRUNCATE TABLE empty.streams_local"
"$COLLECTOR" list --store "${store%/*}/empty" >"$T/list"
assert_contains "nothing" "$T/list" "Nothing has been sent here yet."

echo "== what makes no sense is not taken in silence"
wrong_use() { # TEXT COMMAND...
	assert_status 2 "${@:2}" 2>"$T/error"
	assert_contains "${*:2}" "$T/error" "$1"
}
for command in list fleet "fleet --top function" "snapshot list"; do
	# shellcheck disable=SC2086
	wrong_use "--store and --data: ask either" "$COLLECTOR" $command --store "$store" --data "$T/all"
	# shellcheck disable=SC2086
	HEAPCAST_STORE=clickhouse://127.0.0.1:1/none "$COLLECTOR" $command --data "$T/all" >"$T/taken" || fail "$command: a folder counts more than a variable"
done
for command in list fleet "snapshot list" "share --data $T/all" "gather --data $T/all" "serve --data $T/all"; do
	# shellcheck disable=SC2086
	wrong_use "--store is empty" "$COLLECTOR" $command --store ""
done
wrong_use "--page-address is about the data base" "$COLLECTOR" gather --data "$T/all" --page-address https://desk1
wrong_use "--store-keep is about the data base" "$COLLECTOR" gather --data "$T/all" --store-keep 30d
HEAPCAST_STORE="" wrong_use "--store names the data base" "$COLLECTOR" share --data "$T/all"
HEAPCAST_STORE="" "$COLLECTOR" list --data "$T/all" >"$T/taken"

echo "== removed where it was"
id=$("$COLLECTOR" list --data "$T/all" --json | jq -r '.streams[1].id') # one that is not open there
rm -r "$T/all/streams/$id"
asks_there=$(curl -sS -w ' %{http_code}' "$ADDRESS/data/$id/report")
case $asks_there in
*"no longer here"*404) ;;
*) fail "a removed recording: $asks_there" ;;
esac
