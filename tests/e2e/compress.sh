#!/bin/bash
# `gather --compress-after`: a stream that has ended is compressed. Every question is answered from it as before, with the rows
# that were kept and without; `collector decompress` restores identical bytes. A collector that is killed meanwhile, or has no
# room on the disk, loses nothing.
# ctest: TIMEOUT 240
. "$(dirname "$0")/lib.sh"
need python3 curl

begin_gather() { # FOLDER
	"$COLLECTOR" gather --data "$1" --interface lo --compress-after 0s >"$T/collector.out" 2>"$T/collector.err" &
	collector_pid=$!
}
end_gather() {
	kill -TERM "$collector_pid"
	wait "$collector_pid" || fail "the collector ended with $?: $(cat "$T/collector.err")"
}
is_compressed() { head -c 16 "$1" | grep -qa heapcast; }
compress() { # FOLDER RECORDING
	begin_gather "$1"
	wait_for 60 "the stream to be compressed" is_compressed "$2"
	end_gather
}
questions() { # FOLDER DATA STREAM
	mkdir "$1"
	ask() { "$COLLECTOR" "$1" --data "$data" "${@:2}"; }
	local to=$1 data=$2
	ask list --json >"$to/list"
	ask report --json "$3" >"$to/report"
	ask ledger --json "$3" >"$to/ledger" || echo "$?" >>"$to/ledger"
	ask sql "$3" 'select count(*), sum(size), max(address) from allocations' >"$to/sql"
	ask maps --json "$3" >"$to/maps"
	ask export --format collapsed "$3" >"$to/collapsed"
	ask export --format heaptrack "$3" >"$to/heaptrack"
	ask strip -o "$to/stripped" "$3" >"$to/strip.txt"
	ask pack -o "$to/packed" "$3" >"$to/pack.txt"
	ask diff --base "$3" "$T/plain" >"$to/diff"
	"$COLLECTOR" serve --data "$data" --http 127.0.0.1:8971 >"$T/serve.out" 2>&1 &
	local server=$! route
	wait_for 20 "the page" grep -q Serving "$T/serve.out"
	for route in report maps regions timeline; do
		curl -sf "http://127.0.0.1:8971/data/$3/$route" >"$to/rest-$route" || fail "REST: no $route"
	done
	kill "$server"
	wait "$server" || true
	ask import --data "$to.data" "$streams/$3/recording.heapcast" >"$to/import"
	cmp "$to.data/streams/$3/recording.heapcast" "$T/plain" || fail "import has changed the recording"
	# What was written tells where.
	sed -i "s|$to|TO|g" "$to"/*.txt "$to/import"
}

start_collector
record env PYTHONMALLOC=malloc PYTHONHASHSEED=0 python3 "$ROOT/tests/bench/work.py" 60 >"$T/said.txt"
wait_collector
streams=$T/data/streams
id=$(basename "$(echo "$streams"/*)")
recording=$streams/$id/recording.heapcast
cp -p "$recording" "$T/plain"
cp -a "$T/data" "$T/copy"
questions "$T/before" "$T/data" "$id"

# Compressed: smaller, with the same time and mode, and with the same answers.
compress "$T/data" "$recording"
assert_eq "time and mode" "$(stat -c '%Y %a' "$T/plain")" "$(stat -c '%Y %a' "$recording")"
[ "$(stat -c %s "$recording")" -lt $(($(stat -c %s "$T/plain") * 3 / 4)) ] || fail "it is hardly smaller: $(ls -l "$recording")"
[ ! -e "$recording.draft" ] || fail "there is a draft"
questions "$T/after" "$T/data" "$id"
diff -r "$T/before" "$T/after" || fail "other answers than before"
mv "$streams/$id/columns" "$T/columns"
rm -rf "$T/after" "$T/after.data"
questions "$T/after" "$T/data" "$id"
diff -r "$T/before" "$T/after" || fail "other answers without the rows that were kept"
mv "$T/columns" "$streams/$id/columns"
if command -v zstd >/dev/null && command -v lz4 >/dev/null; then
	zstd -dc <"$recording" | cmp - <(lz4 -dc <"$T/plain") || fail "zstd says something else than lz4"
fi

# Restored.
ask() { "$COLLECTOR" "$1" --data "$T/data" "${@:2}"; }
ask decompress -o "$T/restored" "$id"
cmp "$T/restored" "$T/plain" || fail "what was restored is another recording"
ask decompress "$id"
cmp "$recording" "$T/plain" || fail "what was restored in place is another recording"
assert_eq "time and mode" "$(stat -c '%Y %a' "$T/plain")" "$(stat -c '%Y %a' "$recording")"
assert_status 2 ask decompress "$id" 2>"$T/said.txt"
assert_contains "a recording that is not compressed" "$T/said.txt" "is not compressed"

# Killed while it compresses: the recording is whole, and the next collector goes on.
begin_gather "$T/data"
until [ -e "$recording.draft" ] || is_compressed "$recording"; do :; done # without a pause: a draft lives for a moment
kill -9 "$collector_pid"
wait "$collector_pid" 2>/dev/null || true
cp "$recording" "$T/now"
if is_compressed "$T/now"; then
	"$COLLECTOR" decompress "$T/now"
else
	[ -e "$recording.draft" ] || fail "neither a draft nor a compressed recording"
fi
cmp "$T/now" "$T/plain" || fail "the recording was damaged"
compress "$T/data" "$recording"
[ ! -e "$recording.draft" ] || fail "the draft is left"
ask decompress -o - "$id" | cmp - "$T/plain" || fail "what was compressed after all is another recording"

# Damaged: said, with its name; nothing is written.
cp "$recording" "$T/damaged"
printf 'damage' | dd of="$T/damaged" bs=1 seek=5000 conv=notrunc 2>/dev/null
for question in report ledger "export --format collapsed" decompress "decompress -o $T/none"; do
	# shellcheck disable=SC2086
	assert_status 2 "$COLLECTOR" $question "$T/damaged" >"$T/said.txt" 2>&1
	assert_contains "$question" "$T/said.txt" "$T/damaged, a compressed recording, is damaged at byte"
done
[ ! -e "$T/none" ] || fail "something was written of a damaged recording"

# A full disk.
unshare --mount true 2>/dev/null || skip "needs a mount namespace for a full disk; all else is well"
full() {
	mount -t tmpfs -o size=$(($(du -s --block-size=1 "$T/copy" | cut -f1) + 200000)) none "$T/copy.full" || return 77
	cp -a "$T/copy/." "$T/copy.full"
	begin_gather "$T/copy.full"
	wait_for 60 "it to say so" grep -q "cannot compress .*No space left on device; the next try is in an hour" "$T/collector.err"
	end_gather
	cmp "$T/copy.full/streams/$id/recording.heapcast" "$T/plain" || fail "a full disk has changed the recording"
	[ ! -e "$T/copy.full/streams/$id/recording.heapcast.draft" ] || fail "the draft takes the last room"
}
mkdir "$T/copy.full"
export T id COLLECTOR TEST_SOURCE
export -f full begin_gather end_gather wait_for fail
unshare --mount -- bash -ec 'exec 3>&1; full' || [ $? = 77 ] || fail "on a full disk"
