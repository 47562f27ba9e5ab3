#!/bin/bash
# Snapshots that collectors share, in a real ClickHouse: real agents, two folders. list, show and diff from there are those of the
# folders, also after the server was killed while they were sent, after snapshots were removed from their folders, and until their day
# is dropped. Where both collectors have a snapshot of the same name, NAME@HOST or an id names one.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
. "$TEST_SOURCE/lib-snapshot.sh"
clickhouse_need
need python3 jq cmp
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
OTHER=$BUILD/tests/other/e2e-fleet

# Three programs in two builds, and later one of another collector.
for n in 1 2; do board $n; done
for n in 1 2; do wait_for 10 "agent serve" board_serves $n; done
gather_boards 1 2
wait_for 20 "two agents" eval '[ "$(grep -c ^connected "$T/gather.out")" = 2 ]'
fleet a1 1 1000
fleet b1 1 4000 "$OTHER"
fleet a2 2 3000
fleet_says ready a1 b1 a2
wait_for 20 "three streams" eval '[ "$(grep -c began "$T/gather.out")" = 3 ]'
snapshot take before >/dev/null
touch "$T/files/grow"
fleet_says grown a1 b1 a2
kill -STOP "${served[2]}"
assert_status 1 snapshot take --timeout 1s after >/dev/null
kill -CONT "${served[2]}"

# The answers of a folder. From sums, call sites are chosen by rules, and blocks have no sizes, times, lines and backtraces.
answer() { # FILE WHERE... -- COMMAND...
	local file=$1 where=()
	shift
	while [ "$1" != -- ]; do
		where+=("$1")
		shift
	done
	shift
	"$COLLECTOR" snapshot "${where[@]}" "$@" >"$file" 2>"$file.err" || fail "snapshot ${where[*]} $*: $(cat "$file.err")"
}
known='del(.notes) | walk(if type == "object" then
	del(.backtrace_id, .base_backtrace_id, .line, .min_size, .max_size, .first_ns, .last_ns, .called, .renamed)
	| if (.module | type) == "string" then .module |= sub(".*/"; "") else . end else . end)'
same_answer() { # COMMAND...
	answer "$T/here.txt" --data "$T/data" -- "$@" --hide rules
	answer "$T/shared.txt" --store "$store" -- "$@"
	grep -v "^Note\|^  *deb" "$T/here.txt" | cmp - "$T/shared.txt" || fail "snapshot $*: $(diff "$T/here.txt" "$T/shared.txt")"
	answer "$T/here.json" --data "$T/data" -- "$@" --json --count 1000 --hide rules
	answer "$T/shared.json" --store "$store" -- "$@" --json --count 1000
	jq "$known" "$T/here.json" >"$T/here.known"
	jq "$known" "$T/shared.json" >"$T/shared.known"
	cmp "$T/here.known" "$T/shared.known" || fail "snapshot $* --json: $(diff "$T/here.known" "$T/shared.known" | head -40)"
}
same_answers() {
	same_answer list
	for name; do same_answer show "$name"; done
	same_answer diff "$1" "$2"
	same_answer diff "$2" "$1"
	same_answer diff "$1" "$1"
}
share() { "$COLLECTOR" share --data "${1-$T/data}" --store "$store" >"$T/share" 2>"$T/share.err"; }
at_store() { "$COLLECTOR" snapshot --store "$store" "$@"; }

# ---- one collector ----
# The server is killed before and while they are sent.
{ share || true; } &
sleep "0.$((RANDOM % 3))"
clickhouse_kill 1
wait $!
! share || fail "sums were sent to a server that is not there"
clickhouse_start 1
share || fail "$(cat "$T/share.err")"
same_answers before after
has "$T/shared.json" 'a["changed_count"] == 0 and a["same_count"] > 0'
answer "$T/diff.json" --store "$store" -- diff before after --json
has "$T/diff.json" 'a["groups"][0]["function"] == "planted" and a["groups"][0]["bytes"] == 2 * 3000 * 333'
has "$T/diff.json" 'a["bytes"] == sum(d["bytes"] for d in a["devices"]) == sum(b["bytes"] for b in a["builds"])'
answer "$T/innermost" --store "$store" -- show before --hide none
answer "$T/innermost.here" --data "$T/data" -- show before --hide none
cmp <(grep -v "^Note\|^  *deb" "$T/innermost.here") "$T/innermost" || fail "--hide none: $(diff "$T/innermost.here" "$T/innermost")"
versions=$(clickhouse_sql 1 "SELECT count(), max(version) FROM heaps.snapshots")
share
assert_eq "rows of snapshots after another pass" "$versions" "$(clickhouse_sql 1 "SELECT count(), max(version) FROM heaps.snapshots")"
clickhouse_kill 1
assert_status 3 at_store list 2>"$T/away"
assert_contains "without the server" "$T/away" "can't be reached"
clickhouse_start 1
same_answers after before

# ---- wrong words ----
for wrong in "show" "show nothing" "show nothing@here" "show 12345678" "diff before" "diff before nothing" "take new" "remove before" \
	"show before --hide auto" "show before --hide some"; do
	# shellcheck disable=SC2086
	assert_status 2 at_store $wrong 2>"$T/wrong"
done
at_store remove before 2>"$T/wrong" || true
assert_contains "remove --store" "$T/wrong" "list, show and diff"
at_store show before --hide auto 2>"$T/wrong" || true
assert_contains "--hide auto" "$T/wrong" "needs the recording"

# A variable is for the questions that it can answer, and gives way to a folder.
HEAPCAST_STORE=$store snapshot list >"$T/here.txt"
grep -q before "$T/here.txt" || fail "the folder's snapshots: $(cat "$T/here.txt")"
HEAPCAST_STORE=clickhouse://127.0.0.1:1/none snapshot show before >"$T/here.txt" || fail "a folder gives way to a variable"
HEAPCAST_STORE=$store snapshot take another >/dev/null && snapshot remove another
HEAPCAST_STORE=$store "$COLLECTOR" snapshot list >"$T/shared.txt"
assert_contains "the variable" "$T/shared.txt" before after

# ---- another collector, with a snapshot of the same name ----
board 3
wait_for 10 "agent serve" board_serves 3
"$COLLECTOR" gather --data "$T/data2" --no-discovery --listen off 127.0.0.1:8103 >"$T/gather2.out" 2>"$T/gather2.err" &
fleet c1 3 700
fleet_says grown c1
wait_for 20 "a stream" grep -q began "$T/gather2.out"
"$COLLECTOR" snapshot --data "$T/data2" take before >/dev/null
"$COLLECTOR" snapshot --data "$T/data2" take own >/dev/null
named=
if unshare --uts true 2>/dev/null; then
	named=yes
	unshare --uts bash -c 'echo faraway >/proc/sys/kernel/hostname; exec "$@"' bash \
		"$COLLECTOR" share --data "$T/data2" --store "$store" >"$T/share" 2>&1 || fail "$(cat "$T/share")"
else
	share "$T/data2" || fail "$(cat "$T/share.err")"
fi
id_of() { "$COLLECTOR" snapshot --data "$1" list --json | jq -r ".snapshots[] | select(.name == \"$2\").id"; }
assert_status 2 at_store show before 2>"$T/both"
here=$(id_of "$T/data" before)
assert_contains "a name of two" "$T/both" "several collectors have a snapshot 'before'" "${here:0:12}" "NAME@HOST"
answer "$T/first" --data "$T/data" -- show before --hide rules
answer "$T/by-id" --store "$store" -- show "${here:0:12}"
grep -v "^Note\|^  *deb" "$T/first" | cmp - "$T/by-id" || fail "a snapshot by its id: $(diff "$T/first" "$T/by-id")"
if [ $named ]; then
	answer "$T/second" --data "$T/data2" -- show before --hide rules
	answer "$T/by-host" --store "$store" -- show before@faraway
	grep -v "^Note\|^  *deb" "$T/second" | cmp - "$T/by-host" || fail "NAME@HOST: $(diff "$T/second" "$T/by-host")"
	at_store list >"$T/list"
	assert_contains "the list" "$T/list" "before@faraway" "before@$(hostname)" "own " "after "
fi
at_store list --json >"$T/list.json"
has "$T/list.json" 'len(a["snapshots"]) == 4 and [s["name"] for s in a["snapshots"] if "called" in s] == ["before", "before"]'
at_store diff "after" "own" >"$T/across"
assert_contains "a diff across collectors" "$T/across" "From after to own" "By device" "By build"

# The same over HTTP, from a server without recordings of its own.
"$COLLECTOR" serve --http 127.0.0.1:18445 --store "$store" --data "$T/none" >"$T/serve.out" 2>&1 &
wait_for 10 "the server" grep -q Serving "$T/serve.out"
curl -sS http://127.0.0.1:18445/shared/snapshots | jq -S . >"$T/http.json"
jq -S .snapshots "$T/list.json" | cmp - "$T/http.json" || fail "/shared/snapshots: $(cat "$T/http.json")"
curl -sS http://127.0.0.1:18445/shared >"$T/shared.json"
has "$T/shared.json" 'sum(s["is_snapshot"] for s in a) == 4'
assert_eq "snapshots of the folder" "[]" "$(curl -sS http://127.0.0.1:18445/snapshots | tr -d '[:space:]')"

# ---- questions about their recordings, which a collector has ----
there=http://127.0.0.1:18446
"$COLLECTOR" serve --http 127.0.0.1:18446 --store "$store" --data "$T/data2" >"$T/serve2.out" 2>&1 &
wait_for 10 "the server" grep -q Serving "$T/serve2.out"
own=$(id_of "$T/data2" own)
# Their hosts have the same name now: snapshots do not mix, and only an id names each.
"$COLLECTOR" share --data "$T/data2" --store "$store" --page-address $there >"$T/share" 2>&1 || fail "$(cat "$T/share")"
assert_status 2 at_store show "before@$(hostname)" 2>"$T/both"
assert_contains "two of one name on hosts of one name" "$T/both" "${here:0:12}" "$(id_of "$T/data2" before | cut -c 1-12)" "An id names one"
for data in data data2; do
	answer "$T/second" --data "$T/$data" -- show before --hide rules
	answer "$T/by-id" --store "$store" -- show "$(id_of "$T/$data" before | cut -c 1-12)"
	grep -v "^Note\|^  *deb" "$T/second" | cmp - "$T/by-id" || fail "a snapshot by its id: $(diff "$T/second" "$T/by-id")"
done
asks() { # PATH [PORT]
	curl -sS -o "$T/said" -w '%{http_code} %{redirect_url}\n' "http://127.0.0.1:${2-18445}/data/$1"
	cat "$T/said"
}
asks "snapshot:own/allocations?count=3&function=a%26b" >"$T/asked"
assert_contains "a snapshot of another collector" "$T/asked" "307 $there/data/$own/allocations?count=3&function=a%26b"
asks "snapshot:own@$(hostname)/report" >"$T/asked"
assert_contains "NAME@HOST" "$T/asked" "307 $there/data/$own/report"
curl -sSL http://127.0.0.1:18445/data/snapshot:own/report >"$T/redirected"
curl -sS "$there/data/snapshot:own/report" | cmp - "$T/redirected" || fail "another answer than there: $(cat "$T/redirected")"
curl -sS "$there/data/snapshot:own@$(hostname)/report" | cmp - "$T/redirected" || fail "NAME@HOST at HOST: $(cat "$T/said")"
asks snapshot:before/report >"$T/asked"
assert_contains "a name of two" "$T/asked" "409 " "several collectors have a snapshot 'before'" "${here:0:12}"
asks snapshot:before/report 18446 >"$T/asked"
assert_contains "the one that is here counts" "$T/asked" "200 "
asks snapshot:nothing/report >"$T/asked"
assert_contains "nobody has it" "$T/asked" "404 " "no snapshot in the shared store is called 'nothing'"
asks snapshot:after/report >"$T/asked"
assert_contains "no address" "$T/asked" "404 " "the snapshot is on " "--page-address"
signs=$(clickhouse_sql 1 "SELECT groupArray((collector, name, address)) FROM heaps.collectors FINAL FORMAT TSV")
clickhouse_sql 1 "TRUNCATE TABLE heaps.collectors_local"
clickhouse_sql 1 "INSERT INTO heaps.collectors_local (collector, version, name, address, keep_days)
	SELECT row.1, (toUInt64(now()) - 3600) * 1000000000, row.2, row.3, 0 FROM (SELECT arrayJoin($signs) AS row)"
asks snapshot:own/report >"$T/asked"
assert_contains "away" "$T/asked" "503 " "the snapshot is on $(hostname), away since $(date -u -d '-1 hour' +%Y-%m-%dT)"

# ---- removed in its folder, and another one in its place ----
snapshot remove after
answer "$T/gone" --store "$store" -- show after
snapshot take after >/dev/null
share || fail "$(cat "$T/share.err")"
same_answer show after
at_store list --json >"$T/list.json"
has "$T/list.json" '[len(s.get("called", "")) for s in a["snapshots"] if s["name"] == "after"] == [12, 0]'
replaced=$(jq -r '.snapshots[] | select(.name == "after" and .called).called' "$T/list.json")
answer "$T/old" --store "$store" -- show "$replaced"
cmp "$T/gone" "$T/old" || fail "the snapshot that was removed says something else"

# ---- sampled ----
# Processes have their errors. Sums by function have none, and are the same but for rounding.
one=$("$COLLECTOR" list --data "$T/data" --json | jq -r ".streams[] | select(.pid == ${program[a1]}).id")
"$COLLECTOR" ctl --data "$T/data" "${one:0:12}" mode sample=64 >"$T/ctl.out"
is_sampled() {
	snapshot remove sampled 2>/dev/null || true
	snapshot take sampled --json >"$T/sampled.json" && grep -q '"samples"' "$T/sampled.json"
}
wait_for 20 "a sampled block in a snapshot" is_sampled
share || fail "$(cat "$T/share.err")"
answer "$T/here.json" --data "$T/data" -- show sampled --json --count 1000 --hide rules
answer "$T/shared.json" --store "$store" -- show sampled --json --count 1000
python3 - "$T/here.json" "$T/shared.json" <<'PYTHON' || fail "a sampled snapshot is another one in the shared store"
import json, sys
here, shared = (json.load(open(file)) for file in sys.argv[1:])
for part in "processes", "missing", "in_use", "name", "id":
    assert here[part] == shared[part], part
assert here["in_use"]["samples"] > 0 and "samples" not in shared["total"]
functions = {f["function"]: f["value"] for f in shared["functions"]}
for f in here["functions"]:
    for what in "bytes", "blocks":
        assert abs(f["value"][what] - functions[f["function"]][what]) <= 1 + f["value"].get("samples", 0), (f, functions[f["function"]])
PYTHON

# ---- what is dropped ----
# A snapshot of five days ago: the same one under another id.
columns() { # TABLE ID
	clickhouse_sql 1 "SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns
		WHERE database = 'heaps' AND table = '$1_local' AND name NOT IN ('day', 'minute', '$2')"
}
for table in "sums stream" "streams stream" "snapshots snapshot"; do
	read -r table id <<<"$table"
	minute=
	[ "$table" != sums ] || minute=", minute"
	clickhouse_sql 1 "INSERT INTO heaps.${table}_local (day, $id, $(columns "$table" "$id")$minute)
		SELECT day - 5, toFixedString(unhex('00112233445566778899aabbccddeeff'), 16), $(columns "$table" "$id")${minute:+, minute - 7200}
		FROM heaps.${table}_local WHERE $id = toFixedString(unhex('$here'), 16)"
done
in_use() { clickhouse_sql 1 "SELECT count() FROM heaps.sums WHERE stream = toFixedString(unhex('00112233445566778899aabbccddeeff'), 16)"; }
at_store show 00112233 >"$T/old" || fail "a snapshot of some days ago"
[ "$(in_use)" -gt 0 ] || fail "it has no sums"
# The collector with the lower number drops days.
for data in data data2; do
	"$COLLECTOR" share --data "$T/$data" --store "$store" --store-keep 2d >"$T/share" 2>&1 || fail "$(cat "$T/share")"
done
assert_status 2 at_store show 00112233 2>"$T/wrong"
assert_eq "sums of a snapshot that was dropped" 0 "$(in_use)"
same_answer show after
