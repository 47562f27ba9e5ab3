#!/bin/bash
# `share --store-keep`: days before are dropped from ClickHouse, and what was in use before them is kept: comparisons of what is left are
# those of the recordings, byte for byte, whether all was sent before, or only afterwards, and while streams go on.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need cmp jq
clickhouse_one
at="clickhouse://default@$(clickhouse_hosts)"

# Twelve boards of four days: until now.
"$BUILD/tests/made-fleet" "$T/data" 12 5760 8 7 board >"$T/made"

days() { # DATABASE
	clickhouse_sql 1 "SELECT count(DISTINCT partition) FROM system.parts WHERE database = '$1' AND table = 'sums_local' AND active"
}
same_answers() { # DATABASE
	local question
	for question in "--step 1h --last 20h" "--step 30m --last 10h"; do
		# shellcheck disable=SC2086 # words
		"$COLLECTOR" fleet --data "$T/data" $question --json >"$T/recordings.json"
		# shellcheck disable=SC2086
		"$COLLECTOR" fleet --store "$at/$1" $question --json >"$T/shared.json"
		cmp "$T/recordings.json" "$T/shared.json" || fail "fleet $question says something else than the recordings ($1)"
	done
}

# At a moment: from levels of its hour on, or at the first minute that is kept.
same_tops() { # DATABASE FROM
	local at_second
	for at_second in "$2" $(($2 + 60)) $(($2 + 3600)) $(($2 + 5400)) $(($(date +%s) - 5400)); do
		"$COLLECTOR" fleet --data "$T/data" --top backtrace --count 100 --at "@$at_second" --json >"$T/recordings.json"
		"$COLLECTOR" fleet --store "$at/$1" --top backtrace --count 100 --at "@$at_second" --json >"$T/shared.json"
		cmp "$T/recordings.json" "$T/shared.json" || fail "what is in use at $at_second is something else than in the recordings ($1)"
	done
}

"$COLLECTOR" share --data "$T/data" --store "$at/later" >"$T/share"
same_tops later $(($(date +%s) / 86400 * 86400 - 86400))
[ "$(days later)" -ge 4 ] || fail "of four days there are $(days later)"
same_answers later
"$COLLECTOR" share --data "$T/data" --store "$at/later" --store-keep 1d >"$T/share" 2>&1 || fail "$(cat "$T/share")"
assert_contains "a pass that drops" "$T/share" "12 streams up to date, 0 sums sent"
[ "$(days later)" -le 2 ] || fail "of two days there are $(days later)"
same_answers later
"$COLLECTOR" share --data "$T/data" --store "$at/later" >"$T/share"
assert_contains "another pass" "$T/share" "12 streams up to date, 0 sums sent"
same_answers later

# Moments before the first day are not compared: they would show growth that was none.
"$COLLECTOR" fleet --store "$at/later" --step 1h --json >"$T/all.json"
first=$(clickhouse_sql 1 "SELECT toUInt32(max(first)) * 86400 FROM later.kept")
same_tops later "$first"
assert_eq "levels before the first day" 0 "$(clickhouse_sql 1 "SELECT count() FROM later.levels WHERE minute * 60 < $first")"
[ "$(jq ".report.from_ns / 1000000000" "$T/all.json")" -ge "$first" ] || fail "compared from before the first day: $(head -c 300 "$T/all.json")"
jq -e ".report.cut" "$T/all.json" >/dev/null || fail "that older days are missing is not said"

# A collector that comes later sends nothing that was dropped.
"$COLLECTOR" share --data "$T/data" --store "$at/first" --store-keep 1d >"$T/share"
[ "$(days first)" -le 2 ] || fail "of two days there are $(days first)"
same_answers first
same_tops first "$first"
assert_eq "levels" "$(clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, blocks, bytes)) FROM later.levels")" \
	"$(clickhouse_sql 1 "SELECT count(), sum(cityHash64(stream, minute, stack, blocks, bytes)) FROM first.levels")"
later=$(clickhouse_sql 1 "SELECT stream, sum(blocks), sum(bytes) FROM later.sums GROUP BY stream ORDER BY stream")
assert_eq "what is in use" "$later" "$(clickhouse_sql 1 "SELECT stream, sum(blocks), sum(bytes) FROM first.sums GROUP BY stream ORDER BY stream")"
