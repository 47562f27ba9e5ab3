#!/bin/bash
# A stream that moved from one collector to another, in the data base that both share: the collector with its end is the one that has
# it, whoever sends last; batches that both have count once, also if senders are killed, and if the parts are put together.
# ctest: TIMEOUT 240
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need jq
clickhouse_one
at="clickhouse://default@$(clickhouse_hosts)"
EVENTS=400000
declare -A port=([desk2]=18471 [desk3]=18472)

collect() { # NAME
	gather "$1" --no-discovery --listen "127.0.0.1:${port[$1]}"
	wait_for 20 "$1 to listen" grep -q "listening on" "$T/$1.log"
}
share() { # FOLDER DATABASE [OPTION...]
	"$COLLECTOR" share --data "$T/$1" --store "$at/$2" "${@:3}" >"$T/share.$1" 2>&1 || fail "share of $1: $(cat "$T/share.$1")"
}
# Allocations and their bytes, as all collectors together have sent them; and events of the list.
total() { # DATABASE
	clickhouse_sql 1 "SELECT intDiv(sum(allocations), 1048576), sum(allocated) FROM $1.sums FORMAT CSV"
	"$COLLECTOR" list --store "$at/$1" --json | jq -r '.streams[] | "\(.events) \(.state)"'
}
number_of() { # FOLDER: its collector's number, as SQL
	echo "reinterpretAsUInt64(reverse(unhex('$(cat "$T/$1/share/collector")')))"
}
sent_by() { # FOLDER DATABASE
	clickhouse_sql 1 "SELECT intDiv(sum(allocations), 1048576), sum(allocated), sum(bytes) FROM $2.sums
		WHERE collector = $(number_of "$1") FORMAT CSV"
}

echo "== an agent moves"
collect desk2
"$AGENT" serve --socket "$T/agent.socket" --memory-limit 4M --policy block --collector "127.0.0.1:${port[desk2]},127.0.0.1:${port[desk3]}" \
	--spool "$T/spool" --log info 2>"$T/agent.err" &
agent=$!
wait_for 20 "the agent to have a collector" grep -q "connected to the collector" "$T/agent.err"
HEAPCAST_SOCKET="$T/agent.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" $EVENTS 20000 "$T/end" >"$T/program.out" &
program=$!
has_some() { [ -n "$(find "$T/desk2/streams" -name recording.heapcast -size +200k 2>/dev/null)" ]; }
wait_for 60 "desk2 to have a part" has_some
collect desk3
kill_gather desk2
wait_for 60 "the agent to move" grep -q "connected to the collector at 127.0.0.1:${port[desk3]}" "$T/agent.err"
wait_for 60 "the program to be done" grep -q "done" "$T/program.out"

echo "== a snapshot says that it has only a part"
snapshot() { "$COLLECTOR" snapshot --data "$T/desk3" "$@" >"$T/said" 2>&1 || fail "snapshot $*: $(cat "$T/said")"; }
says_incomplete() {
	tr -s "\n " "  " <"$T/said" >"$T/joined"
	assert_contains "$1" "$T/joined" "Incomplete: e2e-paced (pid $program) on $(uname -n), stream " ", may have had more in use: the first " \
		" events are at $(uname -n)"
}
is_marked() {
	assert_contains "$1" "$T/said" "* incomplete: more may have been in use"
	grep -qE "e2e-paced .*[0-9]\* [0-9]{2}:" "$T/said" || fail "$1: the table has no mark: $(cat "$T/said")"
}
snapshot take first
says_incomplete "take"
snapshot show first
says_incomplete "show"
is_marked "show"
snapshot take second
snapshot show second --json
jq -e '.processes[0].incomplete | startswith("Incomplete: the first ")' "$T/said" >"$T/jq" || fail "JSON: $(cat "$T/said")"
snapshot diff first second
assert_contains "diff" "$T/said" "Incomplete, so that a change may be none: 1 in first, 1 in second"
snapshot diff first second --json
jq -e '.incomplete_processes == 1 and .base_incomplete_processes == 1' "$T/said" >"$T/jq" || fail "JSON of diff: $(cat "$T/said")"
share desk3 snapshots
"$COLLECTOR" snapshot --store "$at/snapshots" show first >"$T/said"
says_incomplete "show, from the data base"
is_marked "show, from the data base"
for name in first second; do snapshot remove $name; done
touch "$T/end"
wait $program
wait_for 60 "the recording to be delivered" grep -q "ended:.*taken by" "$T/agent.err"
kill -TERM $agent
wait $agent || true
stop_gather desk3
id=$(streams desk3)
assert_eq "the stream of desk2" "$id" "$(streams desk2)"
"$COLLECTOR" import --data "$T/both" "$(recording_of desk2 "$id")" "$(recording_of desk3 "$id")" >"$T/import"
share both whole
whole=$(total whole)
echo "the whole: $whole"

# desk2 may have stored more than it acknowledged: here it has a bit that desk3 has, too.
more=$(($(stat -c %s "$(recording_of desk2 "$id")") + 60000))
[ $more -lt "$(stat -c %s "$(recording_of both "$id")")" ] || fail "the part of desk3 is too small"
head -c $more "$(recording_of both "$id")" >"$T/first.heapcast"
mv "$T/desk2" "$T/desk2.acknowledged"
"$COLLECTOR" import --data "$T/desk2" "$T/first.heapcast" >"$T/import" 2>&1 || true
assert_eq "the part of desk2" "$id" "$(streams desk2)"

echo "== desk2 sends last, and desk3 keeps the stream"
share desk3 moved --page-address http://127.0.0.1:18473
alone=$(sent_by desk3 moved)
share desk2 moved --page-address http://127.0.0.1:18472
assert_eq "both parts" "$whole" "$(total moved)"
assert_eq "what desk3 has sent" "$alone" "$(sent_by desk3 moved)"
mkdir "$T/none"
"$COLLECTOR" serve --http 127.0.0.1:18474 --store "$at/moved" --data "$T/none" >"$T/serve.out" 2>&1 &
server=$!
wait_for 10 "the server" grep -q Serving "$T/serve.out"
assert_eq "where the recording is" "http://127.0.0.1:18473/data/$id/report" \
	"$(curl -sS -o "$T/said" -w '%{redirect_url}' "http://127.0.0.1:18474/data/$id/report")"
kill -TERM $server
wait $server || true
for again in 1 2; do
	for desk in desk2 desk3; do
		share $desk moved
		assert_contains "pass $again of $desk" "$T/share.$desk" "1 stream up to date, 0 sums sent"
	done
done

echo "== desk2 has sent all before desk3 comes, and takes back what both have"
share desk2 back
before=$(sent_by desk2 back)
share desk3 back
share desk2 back
assert_eq "both parts" "$whole" "$(total back)"
[ "$before" != "$(sent_by desk2 back)" ] || fail "desk2 has taken nothing back"
share desk2 back
assert_contains "another pass" "$T/share.desk2" "1 stream up to date, 0 sums sent"
[ "$(ls "$T/desk2/share")" = "$(printf '%s\n' collector lock)" ] || fail "left in share: $(ls "$T/desk2/share")"

echo "== the same, with senders that are killed"
for round in 1 2 3 4 5 6; do
	for desk in desk2 desk3; do
		"$COLLECTOR" share --data "$T/$desk" --store "$at/rough" >"$T/rough" 2>&1 &
		sender=$!
		sleep "0.0$((RANDOM % 9 + 1))"
		kill -9 $sender 2>/dev/null || true
		wait $sender 2>/dev/null || true
	done
done
for desk in desk2 desk3 desk2; do share $desk rough; done
assert_eq "both parts" "$whole" "$(total rough)"

echo "== a copy of a later part is not sent again"
cp -r "$T/desk3" "$T/copy"
rm -r "$T/copy/share"
for desk in copy desk3 copy desk3 desk2; do share $desk rough; done
assert_eq "with a copy" "$whole" "$(total rough)"

echo "== the parts are put together at desk3, or elsewhere"
for into in desk3 third; do
	"$COLLECTOR" import --data "$T/$into" "$(recording_of desk2 "$id")" "$(recording_of desk3 "$id")" >"$T/import" 2>&1 ||
		fail "import: $(cat "$T/import")"
	share $into moved
	if grep "another collector" "$T/share.$into"; then fail "$into holds more than others, and is refused"; fi
	for desk in desk2 desk3; do share $desk moved; done
	assert_eq "the whole, at $into" "$whole" "$(total moved)"
done
assert_eq "what desk2 has left" "0,0,0" "$(sent_by desk2 moved)"
