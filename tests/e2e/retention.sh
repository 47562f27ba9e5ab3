#!/bin/bash
# ctest: TIMEOUT 240
# Old streams go, by age and by size, when a collector begins with --keep-for or --keep-size. Those that have ended go,
# the oldest first, and each is said. What is still being recorded stays whole, however old or large.
. "$(dirname "$0")/lib.sh"

streams() { find "$T/data/streams" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort; }
last_stream() { ask list --json | grep -o '"id": *"[0-9a-f]*"' | tail -n 1 | grep -o '[0-9a-f]\{32\}'; }

# A stream that has ended, of some thousand blocks; its id goes to $ended.
record_one() {
	start_collector
	record bash -c 'for ((i = 0; i < 3000; i++)); do x=$x.; done' >"$T/said.txt"
	wait_collector
	ended=$(last_stream)
}

begin_gather() {
	"$COLLECTOR" gather --data "$T/data" --interface lo "$@" >"$T/collector.out" 2>"$T/collector.err" &
	collector_pid=$!
	wait_for 10 "the collector to listen" collector_listens
}

end_gather() {
	kill -TERM "$collector_pid"
	wait "$collector_pid" || fail "the collector ended with $?: $(cat "$T/collector.err")"
}

gone() { [ ! -e "$T/data/streams/$1" ]; }
stays() { [ -s "$T/data/streams/$1/recording.heapcast" ] || fail "$2 is gone: $(cat "$T/collector.err")"; }
received() { [ -s "$(echo "$T"/data/streams/"$1"/recording.heapcast)" ]; }

record_one
first=$ended
record_one
second=$ended
[ "$first" != "$second" ] || fail "one stream for two programs"

# One that goes on, interrupted: its collector stops, and it waits for the next.
mkfifo "$T/go"
begin_gather
"$AGENT" run --policy block --announce --interface lo --quiet --linger 120s -- \
	bash -c 'read -r line <"$1"' waits "$T/go" >"$T/said.txt" 2>"$T/run.err" &
run=$!
three() { [ "$(streams | wc -l)" = 3 ]; }
wait_for 60 "the third stream" three
third=$(streams | grep -v "$first\|$second")
wait_for 60 "its first bytes" received "$third"
end_gather

# By size: what the second takes and half of that again. The first goes.
size=$(du -sb "$T/data/streams/$second" | cut -f1)
begin_gather --keep-size $((size * 3 / 2 + $(du -sb "$T/data/streams/$third" | cut -f1)))
wait_for 60 "the oldest to go" gone "$first"
stays "$second" "the stream for which there is room"
stays "$third" "what is being recorded"
said_so() { grep -q "removed the stream $1" "$T/collector.err"; }
wait_for 20 "a word about it" said_so "$first"
end_gather

# By age. What is being recorded goes on, and ends.
sleep 2
begin_gather --keep-for 1s
wait_for 60 "what is too old to go" gone "$second"
wait_for 20 "a word about it" said_so "$second"
stays "$third" "what is being recorded"
echo on >"$T/go"
wait "$run" || fail "the program ended with $?: $(cat "$T/run.err")"
end_gather
stays "$third" "what was being recorded"
assert_eq "streams that are left" "$third" "$(streams)"
assert_eq "streams that are listed" "$third" "$(last_stream)"
assert_status 0 ask ledger "$third" >"$T/ledger.txt"
