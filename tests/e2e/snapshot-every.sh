#!/bin/bash
# Snapshots at intervals: they come at multiples of the interval, old ones of the series go and others stay, and a
# collector that is away for a while ends nothing.
. "$(dirname "$0")/lib-serve.sh"
need python3
data=$T/data

start_gather() {
	"$COLLECTOR" gather --data "$data" --interface lo >>"$T/gather.out" 2>"$T/gather.err" &
	gather=$!
	wait_for 20 "the stream" eval '"$COLLECTOR" list --data "$data" --select state=live 2>/dev/null | grep -q waiting'
}
serve one --announce --interface lo --socket "$T/socket"
hold first HEAPCAST_SOCKET="$T/socket" HEAPCAST_TAG="kind=held"
start_gather
for wrong in "--every 10ms" "--keep 1s" "--every 1s a/b" "--every 1s x000000000000000000000000000000000000000000000000"; do
	# shellcheck disable=SC2086
	assert_status 2 ask snapshot take $wrong 2>"$T/wrong"
done
wait_for 10 "a snapshot of its own" ask snapshot take night
ask snapshot take night-20200101T000000Z >"$T/said" # called like one of the series, but new

ask snapshot take --every 1s --keep 3s --select tag:kind=held night >"$T/series" 2>"$T/series.err" &
series=$!
wait_for 30 "old ones to go" grep -q "old one.* removed" "$T/series"
# Without a collector the series goes on, and says so.
kill -KILL $gather
wait $gather || true
wait_for 20 "a failure" grep -q "night-.*Z: not taken:" "$T/series.err"
lines=$(wc -l <"$T/series")
start_gather
wait_for 30 "the series to go on" eval '[ "$(wc -l <"$T/series")" -gt $((lines + 1)) ]'
kill -0 $series || fail "the series ended: $(cat "$T/series.err")"
kill -TERM $series
wait $series || true

grep -qE "^night-[0-9]{8}T[0-9]{6}Z: [0-9.]+ [KM]?i?B in [0-9,]+ blocks? of 1 process" "$T/series" || fail "lines of a series: $(cat "$T/series")"
ask snapshot list --json >"$T/list.json"
python3 - "$T/list.json" <<'PYTHON' || fail "the series: $(cat "$T/list.json")"
import calendar, json, sys, time
names = {s["name"]: s for s in json.load(open(sys.argv[1]))["snapshots"]}
assert "night" in names, names.keys()
series = {n: s for n, s in names.items() if n.startswith("night-2") and "-2020" not in n}
assert 1 <= len(series) <= 6, series.keys()
for name, s in series.items():
    due = calendar.timegm(time.strptime(name[6:], "%Y%m%dT%H%M%SZ"))
    assert 0 <= s["wall_ns"] / 1e9 - due < 5, (name, s["wall_ns"])
    assert len(s["processes"]) == 1, s
PYTHON
