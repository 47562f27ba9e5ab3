#!/bin/bash
# Clocks that are wrong: of collectors that share a data base, and of boards. A collector's clock drops no days, and makes nobody
# away. A board's does not decide what "now" is: its streams are left out, and it is named, with ClickHouse and without.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq curl cmp
clickhouse_one
at="clickhouse://default@$(clickhouse_hosts)"
HOUR=3600 DAY=86400
shifted() { # SECONDS COMMAND...
	SHIFTED_S=$1 LD_PRELOAD=$BUILD/tests/libshifted.so "${@:2}"
}
days() { # DATABASE
	clickhouse_sql 1 "SELECT count(DISTINCT partition) FROM system.parts WHERE database = '$1' AND table = 'sums_local' AND active"
}
# Serves until the test ends. The address is in $url.
serve() { # PORT ARG...
	url=http://127.0.0.1:$1
	"$COLLECTOR" serve --http "127.0.0.1:$1" "${@:2}" >"$T/serve$1" 2>&1 &
	wait_for 20 "the server at $1" grep -q Serving "$T/serve$1"
}

echo "== a collector whose clock is off"
"$BUILD/tests/made-fleet" "$T/data" 3 5760 4 7 >"$T/made" # of four days
"$COLLECTOR" share --data "$T/data" --store "$at/days" >"$T/share"
all=$(days days)
[ "$all" -ge 4 ] || fail "of four days there are $all"
for shift in $((40 * DAY)) $((-40 * DAY)); do
	shifted "$shift" "$COLLECTOR" share --data "$T/data" --store "$at/days" --store-keep 2d >"$T/share" 2>"$T/warned"
	assert_contains "a clock that is off by $shift s" "$T/warned" "no day is dropped" "the clock of this machine is 40 days"
	assert_eq "days that are left" "$all" "$(days days)"
done
assert_contains "a clock that is behind" "$T/warned" "40 days behind that of ClickHouse's server"
SHIFTED_S=$((40 * DAY)) LD_PRELOAD=$BUILD/tests/libshifted.so "$COLLECTOR" gather --data "$T/data" --listen 127.0.0.1:18471 --store "$at/days" --store-keep 2d >"$T/gather" 2>&1 &
gathering=$!
wait_for 20 "the collector to say it" grep -q "no day is dropped" "$T/gather"
kill $gathering # it makes one more pass
wait $gathering || true
assert_eq "how often it is said" 1 "$(grep -c "no day is dropped" "$T/gather")"
assert_eq "days that are left" "$all" "$(days days)"
# An hour is not too much: what is today says the server.
shifted 3000 "$COLLECTOR" share --data "$T/data" --store "$at/days" --store-keep 2d >"$T/share" 2>"$T/warned"
[ "$(days days)" -lt "$all" ] || fail "no day was dropped: $(cat "$T/warned")"
assert_eq "the first day" $(($(date +%s) / DAY - 2)) "$(clickhouse_sql 1 "SELECT toUInt32(max(first)) FROM days.kept")"

echo "== it is there all the same"
mkdir "$T/none"
signs_at() { # DATABASE SECONDS PORT
	shifted "$2" "$COLLECTOR" share --data "$T/data" --store "$at/$1" >"$T/share"
	serve "$3" --store "$at/$1" --data "$T/none"
	curl -sS "$url/shared" >"$T/shared"
	assert_eq "since when a collector is away whose clock is off by $2 s" 0 "$(jq '.[0].collector_away_since_ns' "$T/shared")"
	assert_eq "its sign, by the server's clock" 1 \
		"$(clickhouse_sql 1 "SELECT abs(toInt64(toUInt32(now())) - toInt64(intDiv(version, 1000000000))) < 60 FROM $1.collectors")"
}
signs_at behind -$HOUR 18473
signs_at ahead $HOUR 18474
# Who asks may have a wrong clock, too.
SHIFTED_S=$DAY LD_PRELOAD=$BUILD/tests/libshifted.so "$COLLECTOR" serve --http 127.0.0.1:18475 --store "$at/ahead" --data "$T/none" >"$T/serve18475" 2>&1 &
wait_for 20 "the server at 18475" grep -q Serving "$T/serve18475"
assert_eq "away, by the clock of who asks" 0 "$(curl -sS http://127.0.0.1:18475/shared | jq '.[0].collector_away_since_ns')"

echo "== boards whose clocks are off"
"$BUILD/tests/made-fleet" "$T/boards" 6 30 8 3 >"$T/made"
"$BUILD/tests/made-fleet" "$T/boards" 1 30 8 4 "" 1 $((10 * DAY)) gwfuture >"$T/made"
"$BUILD/tests/made-fleet" "$T/boards" 2 30 8 5 "" 1 $((5 * HOUR)) gwlater >"$T/made"
"$BUILD/tests/made-fleet" "$T/boards" 1 30 8 6 "" 1 -$(($(date +%s) - 20 * HOUR)) gwpast >"$T/made"
"$COLLECTOR" share --data "$T/boards" --store "$at/boards" >"$T/share"
"$COLLECTOR" fleet --data "$T/boards" --last 24h >"$T/fleet" || fail "fleet: $(cat "$T/fleet")"
assert_contains "the comparison" "$T/fleet" "Fleet: 6 boards" "1 stream left out: the clock of gwfuture-000 is 10 days ahead" \
	"the clock of gwlater-001 is 5 hours ahead" "the clock of gwpast-000 was not set when it began"
assert_status 1 "$COLLECTOR" fleet --data "$T/boards" --step 1m --fail-if 'left_out = 4' >"$T/gate"
"$COLLECTOR" fleet --data "$T/boards" --top function >"$T/top"
assert_contains "what is in use" "$T/top" " of 6 streams in " "the clock of gwfuture-000 is 10 days ahead" "the clock of gwpast-000 was not set"
serve 18476 --data "$T/boards"
recordings=$url
serve 18477 --store "$at/boards" --data "$T/none"
for question in "--last 24h" "--step 1m" "--align start --step 1m" "--top function" "--top backtrace --count 5" \
	"--top function --at @$(($(date +%s) + 10 * DAY - 600))"; do
	# shellcheck disable=SC2086 # words
	"$COLLECTOR" fleet --data "$T/boards" $question --json >"$T/recordings.json"
	# shellcheck disable=SC2086
	"$COLLECTOR" fleet --store "$at/boards" $question --json >"$T/shared.json"
	cmp "$T/recordings.json" "$T/shared.json" || fail "fleet $question says something else than the recordings"
done
assert_eq "streams of a minute to come that is asked for" 1 "$(jq .streams "$T/shared.json")"
assert_eq "left out of it" gwpast-000 "$(jq -r '.left_out[].host' "$T/shared.json")"
for path in fleet?last=24h fleet/top; do
	curl -sS "$recordings/$path" >"$T/recordings.json"
	curl -sS "$url/$path" >"$T/shared.json"
	cmp "$T/recordings.json" "$T/shared.json" || fail "/$path says something else than the recordings"
done
jq -e '.streams == 6 and [.left_out[].host] == ["gwfuture-000", "gwlater-000", "gwlater-001", "gwpast-000"]' "$T/shared.json" >"$T/told" ||
	fail "/fleet/top: $(cat "$T/shared.json")"
jq -e '.left_out[0] == {host: "gwfuture-000", streams: 1, why: "the clock of gwfuture-000 is 10 days ahead"}' "$T/shared.json" >"$T/told"
# If all boards are ahead, it is the clock of who asks that is wrong; a shared store has the server's.
shifted $((-3 * DAY)) "$COLLECTOR" fleet --data "$T/boards" --top function --select 'host=gw-*' --json | jq -e '.streams == 6 and .left_out == []' >"$T/told"
shifted $((-3 * DAY)) "$COLLECTOR" fleet --store "$at/boards" --top function --json | jq -e '.streams == 6 and (.left_out | length) == 4' >"$T/told"
assert_status 1 "$COLLECTOR" fleet --data "$T/boards" --select 'host=gwpast-*' 2>"$T/error"
assert_contains "nothing to compare" "$T/error" "the clock of gwpast-000 was not set when it began (--align start compares by age)"

# What counts as recorded in 1970 is not dropped in silence.
"$COLLECTOR" share --data "$T/boards" --store "$at/boards" --store-keep 2d >"$T/share" 2>"$T/warned"
"$COLLECTOR" share --data "$T/boards" --store "$at/boards" --store-keep 2d >"$T/share" 2>"$T/warned"
assert_contains "days of 1970" "$T/warned" "1 stream count as recorded in 1970" "the clock of gwpast-000 was not set"
