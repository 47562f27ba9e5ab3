#!/bin/bash
# Sums that collectors share, in a real ClickHouse: comparisons of a fleet from there are those of the recordings, byte for byte; also
# after the server, and whoever sends, were killed again and again while sums were sent: nothing is missing, and nothing there twice.
# ctest: TIMEOUT 600
full=${HEAPCAST_TEST_FULL:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need cmp jq python3
clickhouse_one
at="clickhouse://default@$(clickhouse_hosts)"
boards=30 minutes=150
[ -z "$full" ] || boards=200 minutes=120

"$BUILD/tests/made-fleet" "$T/data" $boards $minutes 64 7 build >"$T/made"
# Some that began later, two of them sampled.
"$BUILD/tests/made-fleet" "$T/data" 5 10 64 9 "" 1 0 gw 4096 >"$T/made"
all=$((boards + 5))
earlier=$(($(date +%s) - 20 * 60))

# What is in a data base: numbers of rows, and a sum over all that they say.
contents() { # DATABASE
	clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, allocations, allocated, blocks, bytes, variance)),
		(SELECT count() FROM $1.levels), (SELECT sum(cityHash64(stream, minute, stack, blocks, bytes, variance)) FROM $1.levels),
		(SELECT count() FROM $1.streams FINAL WHERE done = 1), (SELECT count() FROM $1.stacks FINAL) FROM $1.sums"
}

echo 'cache_*' >"$T/rules"
same_answers() { # DATABASE
	local question
	for question in "--step 1m" "--step 5m --last 20m" "--step 1m --align start" "--step 2m --select host=gw-0*" \
		"--top function" "--top site --count 7" "--top backtrace --count 9" "--top function --select host=gw-0*" \
		"--top function --hide-rules $T/rules" "--top function --at @$earlier" "--top site --at @$((earlier - 300))"; do
		# shellcheck disable=SC2086 # words
		"$COLLECTOR" fleet --data "$T/data" $question --json >"$T/recordings.json"
		# shellcheck disable=SC2086
		"$COLLECTOR" fleet --store "$at/$1" $question --json >"$T/shared.json"
		cmp "$T/recordings.json" "$T/shared.json" || fail "fleet $question says something else than the recordings"
		grep -q '"bytes_error":' "$T/shared.json" || [ "$question" != "--top function" ] || fail "sampled numbers have no error"
		grep -q '"findings":\[{' "$T/shared.json" || [ "$question" != "--step 1m" ] || fail "the planted growth is not found"
	done
	"$COLLECTOR" list --data "$T/data" --json | jq -S '.streams[] | del(.recording_bytes)' >"$T/recordings.list"
	"$COLLECTOR" list --store "$at/$1" --json | jq -S '.streams | sort_by(.start_wall_ns, .id)[] | del(.recording_bytes, .collector)' >"$T/shared.list"
	cmp <(sort "$T/recordings.list") <(sort "$T/shared.list") || fail "list says something else than the recordings"
}

# Without trouble.
"$COLLECTOR" share --data "$T/data" --store "$at/calm" >"$T/share" 2>"$T/share.err"
assert_contains "the first pass" "$T/share" "$all streams up to date, "
same_answers calm
"$COLLECTOR" share --data "$T/data" --store "$at/calm" >"$T/again"
assert_contains "another pass" "$T/again" "$all streams up to date, 0 sums sent"
calm=$(contents calm)
# All that were there at an hour have a level; e2e.clickhouse-levels compares what they say.
hour=$(clickhouse_sql 1 "SELECT max(minute) FROM calm.levels")
assert_eq "levels of the last hour" "$(clickhouse_sql 1 "SELECT count() FROM calm.streams FINAL WHERE start_wall_ns <= $hour * 60000000000 AND start_wall_ns + last_ns > $hour * 60000000000")" \
	"$(clickhouse_sql 1 "SELECT uniqExact(stream) FROM calm.levels WHERE minute = $hour AND allocations = 1")"

# What the manual has for Grafana.
python3 - "$ROOT/docs/shared-store.md" "$T" <<'END'
import re, sys
for number, text in enumerate(re.findall(r"```sql\n(.*?)```", open(sys.argv[1]).read(), re.S)):
    open(f"{sys.argv[2]}/grafana.{number}", "w").write(text.replace("heapcast.", "calm."))
END
clickhouse_sql 1 "$(cat "$T/grafana.0")" >"$T/by_host"
assert_eq "rows by minute and host" $((boards * minutes)) "$(wc -l <"$T/by_host")"
at_end=$("$COLLECTOR" list --data "$T/data" --json | jq '[.streams[] | select(.host == "gw-001").in_use_bytes] | add')
assert_eq "bytes of a host at the end" "$at_end" "$(awk -F'\t' '$2 == "gw-001" { bytes = $3 } END { print bytes }' "$T/by_host")"
clickhouse_sql 1 "$(cat "$T/grafana.1")" >"$T/by_stack"
assert_eq "rows by backtrace" 10 "$(wc -l <"$T/by_stack")"
grep -q handler_ "$T/by_stack" || fail "no function is named: $(cat "$T/by_stack")"

# Two at the same time are one; a copy of the folder is not sent again under another number.
"$COLLECTOR" share --data "$T/data" --store "$at/twice" >"$T/twice.1" 2>&1 & first=$!
status=0
"$COLLECTOR" share --data "$T/data" --store "$at/twice" >"$T/twice.2" 2>&1 || status=$?
first_status=0
wait $first || first_status=$?
[[ "$status$first_status" =~ ^(00|03|30)$ ]] || fail "two at the same time: $status, $first_status: $(cat "$T"/twice.?)"
"$COLLECTOR" share --data "$T/data" --store "$at/twice" >"$T/twice"
assert_eq "what two have sent" "$calm" "$(contents twice)"
cp -r "$T/data" "$T/copy"
rm -r "$T/copy/share"
status=0
"$COLLECTOR" share --data "$T/copy" --store "$at/twice" >"$T/copied" 2>&1 || status=$?
assert_contains "a copy of the folder" "$T/copied" "streams another collector sends already: this folder"
assert_eq "what a copy has added" "$calm" "$(contents twice)"

# Questions make nothing, and sums that somebody removed are missed.
status=0
"$COLLECTOR" fleet --store "$at/typo" >"$T/typo" 2>&1 || status=$?
[ $status -ge 2 ] || fail "a data base that is not there: $status, $(cat "$T/typo")"
assert_contains "a data base that is not there" "$T/typo" "has nothing of heapcast in database typo"
[ -z "$(clickhouse_sql 1 "SELECT name FROM system.databases WHERE name = 'typo'")" ] || fail "a question has made a data base"
clickhouse_sql 1 "DROP TABLE twice.sums_local"
"$COLLECTOR" share --data "$T/data" --store "$at/twice" >"$T/removed" 2>&1 || true
status=0
"$COLLECTOR" fleet --store "$at/twice" --step 1m >"$T/removed" 2>&1 || status=$?
[ $status -ge 2 ] || fail "removed sums: $status, $(cat "$T/removed")"
assert_contains "removed sums" "$T/removed" "no sums of them"

# With trouble: the server is killed while sums are sent, and so is the sender.
killed=0 broken=0
for round in 1 2 3 4 5 6 7 8; do
	"$COLLECTOR" share --data "$T/data" --store "$at/rough" >"$T/rough.$round" 2>&1 &
	sender=$!
	sleep "0.$((RANDOM % 6 + 1))"
	if [ $((round % 2)) = 1 ]; then
		clickhouse_kill 1
		status=0
		wait $sender || status=$?
		[ $status = 0 ] || [ $status = 3 ] || fail "a sender whose server is killed ends with $status: $(cat "$T/rough.$round")"
		broken=$((broken + (status == 3)))
		clickhouse_start 1
	else
		kill -9 $sender 2>/dev/null && killed=$((killed + 1))
		wait $sender 2>/dev/null || true
	fi
done
"$COLLECTOR" share --data "$T/data" --store "$at/rough" >"$T/rough" 2>&1
echo "broken $broken times, killed $killed times"
rough=$(contents rough)
[ "$calm" = "$rough" ] || fail "other sums after trouble: $rough, not $calm"
same_answers rough
[ -z "$(ls "$T/data/share" | grep shard)" ] || fail "what was sent is still in $T/data/share: $(ls "$T/data/share")"

# The data base is lost while the second part of a long stream is on its way: all is sent again, not only that part.
"$BUILD/tests/made-fleet" "$T/long" 1 5760 64 7 >"$T/made"
"$COLLECTOR" share --data "$T/long" --store "$at/whole" >"$T/share"
rm -r "$T/long/share"
pending=$T/long/share/shard-0
second_part() {
	[ "$(clickhouse_sql 1 "SELECT count() FROM lost.streams_local" 2>/dev/null)" -gt 0 ] && [ -e "$pending" ]
}
for _ in 1 2 3 4 5 6 7 8; do
	"$COLLECTOR" share --data "$T/long" --store "$at/lost" >"$T/lost" 2>&1 &
	sender=$!
	until second_part 2>/dev/null || ! kill -0 $sender 2>/dev/null; do :; done
	kill -9 $sender 2>/dev/null || true
	wait $sender 2>/dev/null || true
	[ ! -e "$pending" ] || break
	clickhouse_sql 1 "DROP DATABASE IF EXISTS lost"
done
[ -e "$pending" ] || fail "a sender could not be killed in time"
clickhouse_sql 1 "DROP DATABASE lost"
"$COLLECTOR" share --data "$T/long" --store "$at/lost" >"$T/lost" 2>&1
assert_eq "what a data base has that was made anew" "$(contents whole)" "$(contents lost)"
