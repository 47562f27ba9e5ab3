#!/bin/bash
# Rows are kept beside the recording while it is received. Whatever is killed or damaged, answers are those that the frames alone
# give; and an ended stream's come without its frames.
# ctest: LABELS full TIMEOUT 600
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

# What was kept, as it was: who comes upon damage takes it away.
restore() {
	rm -rf "$columns"
	cp -a "$T/columns" "$columns"
}

# Whoever comes upon what is damaged says so. A question does not read all columns: there is damage in many places.
said_anew() {
	local part
	restore
	for part in $(seq 1 31); do
		printf '\125\252\125' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") * part / 32)) conv=notrunc 2>/dev/null
	done
	assert_status 0 ask export --format json --with-stacks "$id" >/dev/null 2>"$T/ask.err"
	assert_contains "what is said of $1" "$T/ask.err" "derived anew"
}

find_recording() {
	recording=$(ls "$T"/data/streams/*/recording.heapcast)
	id=$(basename "$(dirname "$recording")")
}

received() {
	find_recording && [ "$(stat -c %s "$recording")" -gt "$1" ]
}

# It works until it is told that this is enough: on a busy machine it would have ended before the collector is killed.
cat >"$T/work.py" <<'END'
import os, runpy, sys, time
sys.argv = sys.argv[1:]
while not os.path.exists("enough"):
    runpy.run_path(sys.argv[0], run_name="__main__")
    time.sleep(0.1)
END

start_collector
PYTHONMALLOC=malloc "$AGENT" run --policy block --announce --interface lo --quiet --block-max 60s -- \
	python3 "$T/work.py" "$ROOT/tests/bench/work.py" 2 >"$T/said.txt" 2>"$T/run.err" &
run=$!

# The collector is killed twice while it receives; what there is can be asked.
for bytes in 20000 200000; do
	wait_for 60 "$bytes bytes" received "$bytes"
	kill -KILL "$collector_pid"
	wait "$collector_pid" 2>"$T/wait.err" || true
	assert_status 0 ask timeline "$id" >"$T/timeline.txt"
	if [ "$bytes" = 200000 ]; then # as a crash of the host might leave it
		printf '\004"M\030half a frame' >>"$recording"
		mkdir -p "$(dirname "$recording")/columns"
		printf 'no state' >"$(dirname "$recording")/columns/state"
	fi
	start_collector
done
touch "$T/enough"
wait "$run" || fail "the program ended with $?"
wait_collector
grep -q "cut [1-9][0-9]* bytes of a half-written frame off a recording of .*(stream $id), which has [1-9][0-9]* events" \
	"$T/collector.err" || fail "nothing is said of what was cut off"
grep -q "stream $id of .*/columns can't be used: .* derived anew from [1-9][0-9]* bytes" "$T/collector.err" ||
	fail "nothing is said of rows that are made anew"
assert_status 0 ask ledger "$id" >"$T/ledger.txt"
columns=$(dirname "$recording")/columns
[ -s "$columns/usage" ] || fail "nobody made the index of usage over time: $(ls -la "$columns")"
[ -s "$columns/sums" ] || fail "nobody made the sums of all rows: $(ls -la "$columns")"
[ -s "$columns/state" ] || fail "nothing is kept of an ended stream: $(ls -la "$columns")"
ask_both "an ended stream" "top --json" "ledger --json" "timeline --json"

made=$(stat -c %i "$columns/sums")
ask_both "an ended stream, with the sums that were kept" "top --json" "tree --json"
[ "$(stat -c %i "$columns/sums")" = "$made" ] || fail "the sums that were kept were made again"
ask_both "an ended stream, with the index that was kept" "timeline --json" "report --json"

cp -a "$columns" "$T/columns"
# With damage in what is kept; answers put nothing right but by leaving it out.
for file in "$columns"/rows.* "$columns/state" "$columns/usage" "$columns/sums"; do
	[ -s "$file" ] || continue
	printf '\125\252\125' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc 2>/dev/null
	ask_both "a damaged $(basename "$file")" "timeline --json" "ledger --json" "top --json"
	case $file in
	*/usage | */sums) ;;
	*) said_anew "a damaged $(basename "$file")" ;;
	esac
	restore
done
rm -rf "$columns"
ask_both "a stream of which nothing is kept" "timeline --json"

