#!/bin/bash
# An hour without ClickHouse (without --full: a minute, or HEAPCAST_TEST_SECONDS): agents record into a `collector gather --store`
# whose server is killed and comes back. Nothing is lost, nothing is there twice, and what the shared store answers is what the
# recordings say, byte for byte. Programs are not slowed: one of two twins sends to a collector without a shared store, and is what the
# other one is measured by. Nothing grows at the agents, nor at the collector but its recordings; and what waits is said once an hour.
# ctest: LABELS "full;hours" TIMEOUT 7200 COST 4000
full=${HEAPCAST_TEST_FULL:-} seconds=${HEAPCAST_TEST_SECONDS:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
need python3 jq cmp
away=80 window=4 there=30 every=15 # seconds
[ -z "$full" ] || away=3600 window=10 there=240 every=60
away=${seconds:-$away}
# What is on its way to a shard: LANE_ROWS of collector/share/send.c, of 79 bytes, and the sums of a minute.
SHARE_MOST=$((20 << 20))
RSS_MOST=$((96 << 10)) # KiB, beyond what it was before

clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"
cat >"$T/walk.py" <<'PYTHON'
import os, sys, time
kept = []
def some(depth):
    return some(depth - 1) if depth else [bytes(700 + k) for k in range(20)]
while not os.path.exists(sys.argv[1]):
    kept.append(some(len(kept) % 7))
    if len(kept) > 200:
        del kept[:100]
    time.sleep(0.02)
PYTHON

listens() { # NAME
	kill -0 "${gatherer[$1]}" 2>/dev/null || fail "collector $1 ended: $(cat "$T/$1.err")"
	grep -q "listening on" "$T/$1.out"
}
declare -A gatherer port=([shared]=8201 [alone]=8202) agent
gather() { # NAME OPTION...
	"$COLLECTOR" gather --data "$T/$1" --no-discovery --listen "127.0.0.1:${port[$1]}" "${@:2}" >"$T/$1.out" 2>"$T/$1.err" &
	gatherer[$1]=$!
	wait_for 20 "collector $1 to listen" listens "$1"
}
gather alone
gather shared --store "$store" --http 127.0.0.1:18444
token=$(token_in "$T/shared.out")

record_for() { # COLLECTOR CONTROL CMD...
	"$AGENT" run --policy block --collector "127.0.0.1:${port[$1]}" --control "$T/$2" --quiet -- "${@:3}"
}
begin() { # NAME COLLECTOR CMD...
	record_for "$2" "$1.socket" "${@:3}" >"$T/$1.said" 2>"$T/$1.err" &
	agent[$1]=$!
}
for name in shared alone; do
	begin "twin-$name" $name "$BUILD/tests/e2e-rounds" 1000 500 $((window * 1000)) "$T/end"
done
begin walk shared "$(type -P python3)" "$T/walk.py" "$T/end"

now() { date +%s; }
query() { clickhouse_sql 1 "$1"; }
in_store() { [ "$(query "SELECT uniqExact(stream) FROM heaps.sums" 2>/dev/null)" -ge "$1" ]; }
rss() { awk -v key="$1:" '$1 == key { print $2 }' "/proc/${gatherer[shared]}/status"; }
sample() {
	local name
	for name in twin-shared walk; do
		"$AGENT" ctl --socket "$T/$name.socket" --json status >"$T/status.json" || fail "the agent $name does not answer"
		jq -e '.programs | length == 1 and all(.lost == 0)' "$T/status.json" >/dev/null || fail "$name: $(cat "$T/status.json")"
		echo "$(now) $(jq '.programs[0].spool' "$T/status.json")" >>"$T/samples"
	done
	echo "$(now) $(rss VmRSS) $(du -sb "$T/shared/share" | cut -f1) $(du -sb "$T/shared" | cut -f1)" >>"$T/collector.samples"
}
sample_for() { # SECONDS
	local end=$(($(now) + $1))
	while [ "$(now)" -lt $end ]; do
		sample
		sleep $((window / 2))
	done
}
bytes_in() { du -sb "$1" | cut -f1; }
short=0
record_short() {
	short=$((short + 1))
	record_for shared "short.$short" bash -c 'for ((i = 0; i < 2000; i++)); do x=$x.; done' \
		>"$T/short.said" 2>"$T/short.err" || fail "a short program: $(cat "$T/short.err")"
}

echo "== the store is there"
wait_for 150 "the first sums" in_store 2
sample_for $there
record_short
before=$(rss VmRSS)
batches_before=$(query "SELECT uniqExact(batch) FROM heaps.sums")

echo "== away for $away s"
clickhouse_kill 1
away_from=$(now)
while [ "$(now)" -lt $((away_from + away)) ]; do
	record_short
	sample_for $every
done
away_to=$(now)
most=$(sort -n -k3,3 "$T/collector.samples" | tail -n 1 | cut -d' ' -f3)
all=$(bytes_in "$T/shared") streams=$(bytes_in "$T/shared/streams")
echo "recordings: $streams bytes; share/ at most $most; all else $((all - streams - $(bytes_in "$T/shared/share")))"
[ "$most" -le $SHARE_MOST ] || fail "share/ has had $most bytes"
[ $((all - streams)) -le $SHARE_MOST ] || fail "beside the recordings there are $((all - streams)) bytes: $(du -ab "$T/shared")"
# Once, and after an hour again.
said=$(grep -c "wait until they can be sent\|will wait in the recordings" "$T/shared.err")
[ "$said" -ge 1 ] && [ "$said" -le $((1 + away / 3600)) ] || fail "it was said $said times"
assert_contains "what the collector says" "$T/shared.err" "can't be reached"
assert_eq "lines of what it says" "$said" "$(wc -l <"$T/shared.err")"
assert_eq "status of /shared" 503 "$(curl -sS -o "$T/away.json" -w '%{http_code}' -H "Authorization: Bearer $token" http://127.0.0.1:18444/shared)"
assert_contains "what /shared says" "$T/away.json" "can't be reached"
cat "$T/shared.err"

echo "== it is back"
echo 5 >"/proc/${gatherer[shared]}/clear_refs" # VmHWM begins anew
back=$(now)
clickhouse_start 1
sent_again() { grep -q "all sums are in the shared store again" "$T/shared.out"; }
wait_for 120 "all sums" sent_again
echo "all sent after $(($(now) - back)) s: $(grep "all sums" "$T/shared.out")"
minutes=$(sed -nE 's/.*store again, after ([0-9]+) min.*/\1/p' "$T/shared.out")
[ "$minutes" -ge $((away / 60 - 1)) ] && [ "$minutes" -le $((away / 60 + 1)) ] || fail "it was away for $minutes minutes, as it says"
echo "batches: $batches_before before, $(query "SELECT uniqExact(batch) FROM heaps.sums") now"
sample_for $there
echo "the collector's memory: $before KiB before, at most $(rss VmHWM) KiB since the server is back"
[ "$(rss VmHWM)" -le $((before + RSS_MOST)) ] || fail "the collector has used more than $RSS_MOST KiB more"

echo "== the end"
touch "$T/end"
for name in "${!agent[@]}"; do wait "${agent[$name]}" || fail "agent $name ended with $?: $(cat "$T/$name.err")"; done
record_short
ended() { # COUNT
	[ "$("$COLLECTOR" list --store "$store" --json 2>/dev/null | jq '[.streams[] | select(.state == "ended")] | length')" = "$1" ]
}
wait_for 60 "all streams in the store" ended $((short + 2))
sleep 0.1
python3 "$TEST_SOURCE/clickhouse-hour.py" $away_from $away_to "$T/twin-shared.said" "$T/twin-alone.said" "$T/samples" ||
	fail "the agents have felt it"

echo "== what is there"
# Of the twins' recordings, the one that was to be shared is no larger.
twin=$(du -sb "$T/shared/streams/"* | sort -n | tail -n 1 | cut -f1) other=$(bytes_in "$T"/alone/streams/*)
echo "the twins' recordings: $twin bytes, and $other of the one that is not shared"
for stream in "$T"/shared/streams/*; do
	stream=${stream##*/}
	"$COLLECTOR" ledger --data "$T/shared" --json "$stream" >"$T/ledger.json" || fail "$stream: $(cat "$T/ledger.json")"
	jq -e '.lost == 0 and .adds_up' "$T/ledger.json" >/dev/null || fail "$stream has lost something: $(cat "$T/ledger.json")"
	jq -r "\"$stream \" + (.stored_allocations + .stored_reallocations | tostring)" "$T/ledger.json"
done | sort >"$T/counted.here"
query "SELECT lower(hex(stream)), intDiv(sum(allocations), 1048576) FROM heaps.sums GROUP BY stream" | tr '\t' ' ' | sort >"$T/counted.shared"
diff "$T/counted.here" "$T/counted.shared" >&3 || fail "the shared store has other numbers of allocations than the ledgers"
echo "$(wc -l <"$T/counted.here") streams, $(awk '{ n += $2 } END { print n }' "$T/counted.here") allocations, none lost, none twice"

for question in "--step 1m" "--step 2m --align start" "--top function" "--top site --count 9" "--top backtrace --count 50" \
	"--top function --at @$((away_to - away / 2))"; do
	# shellcheck disable=SC2086 # words
	"$COLLECTOR" fleet --data "$T/shared" $question --json >"$T/recordings.json"
	# shellcheck disable=SC2086
	"$COLLECTOR" fleet --store "$store" $question --json >"$T/store.json"
	cmp "$T/recordings.json" "$T/store.json" || fail "fleet $question says something else than the recordings"
done
for from in "--data $T/shared" "--store $store"; do
	# shellcheck disable=SC2086
	"$COLLECTOR" list $from --json | jq -S '.streams | sort_by(.id)[] | del(.recording_bytes, .collector, .collector_address)' >"$T/list.${from:2:4}"
done
cmp "$T/list.data" "$T/list.stor" || fail "list says something else than the recordings"
[ -z "$(ls "$T/shared/share" | grep shard)" ] || fail "what was sent is still in share/: $(ls "$T/shared/share")"
for name in shared alone; do
	kill -INT "${gatherer[$name]}"
	wait "${gatherer[$name]}" || fail "collector $name ended with $?: $(cat "$T/$name.err")"
done
[ "$(wc -l <"$T/shared.err")" -le $((said + 1)) ] || fail "the collector has said: $(cat "$T/shared.err")"
