#!/bin/bash
# Rows are kept beside the recording while it is received. Whatever is killed or damaged, answers are those that the frames alone
# give; and an ended stream's come without its frames.
. "$(dirname "$0")/lib.sh"
need python3

# WHAT QUESTION...: the same of the stream in the store, and of a copy of its recording that has nothing beside it.
ask_both() {
	local question what=$1
	shift
	cp "$recording" "$T/alone.heapcast"
	for question; do
		# shellcheck disable=SC2086
		ask ${question%% *} $id ${question#* } 2>"$T/ask.err" >"$T/kept.txt" || true
		# shellcheck disable=SC2086
		"$COLLECTOR" ${question%% *} "$T/alone.heapcast" ${question#* } 2>"$T/ask.err" >"$T/alone.txt" || true
		[ -s "$T/alone.txt" ] || { cat "$T/ask.err" >&3; fail "$what: no answer to $question"; }
		cmp "$T/kept.txt" "$T/alone.txt" >&3 || fail "$what: $question differs"
	done
}

find_recording() {
	recording=$(ls "$T"/data/streams/*/recording.heapcast)
	id=$(basename "$(dirname "$recording")")
}

received() {
	find_recording && [ "$(stat -c %s "$recording")" -gt "$1" ]
}

start_collector
PYTHONMALLOC=malloc "$AGENT" run --announce --interface lo --quiet --block-max 60s -- \
	python3 "$ROOT/tests/bench/work.py" 12 >"$T/said.txt" 2>"$T/run.err" &
run=$!

# The collector is killed twice while it receives; what there is can be asked.
for bytes in 20000 200000; do
	wait_for 60 "$bytes bytes" received "$bytes"
	kill -KILL "$collector_pid"
	wait "$collector_pid" 2>"$T/wait.err" || true
	assert_status 0 ask timeline "$id" >"$T/timeline.txt"
	start_collector
done
wait "$run" || fail "the program ended with $?"
wait_collector
assert_status 0 ask ledger "$id" >"$T/ledger.txt"
columns=$(dirname "$recording")/columns
[ -s "$columns/usage" ] || fail "nobody made the index of usage over time: $(ls -la "$columns")"
[ -s "$columns/state" ] || fail "nothing is kept of an ended stream: $(ls -la "$columns")"
ask_both "an ended stream" "top --json" "ledger --json" "timeline --json"

[ -s "$columns/usage" ] || fail "the index of usage over time is not kept: $(ls -la "$columns")"
ask_both "an ended stream, with the index that was kept" "timeline --json" "report --json"

# With damage in what is kept; answers put nothing right but by leaving it out.
for file in "$columns"/rows.* "$columns/state" "$columns/usage"; do
	[ -s "$file" ] || continue
	cp "$file" "$T/saved"
	printf '\125\252\125' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc 2>/dev/null
	ask_both "a damaged $(basename "$file")" "timeline --json" "ledger --json"
	cp "$T/saved" "$file"
done
rm -rf "$columns"
ask_both "a stream of which nothing is kept" "timeline --json"

