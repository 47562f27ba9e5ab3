#!/bin/bash
# A daemon that is joined in mid-life and left while it lives has no leaks, as far as anybody knows. What was not freed
# while it was watched is called so, and the report says from when to when that was. The same holds for one that was
# joined and is watched to its end.
. "$(dirname "$0")/lib-attach.sh"
command -v python3 >/dev/null || skip "there is no python3"

start_daemon() {
	PYTHONMALLOC=malloc python3 -c '
import time
kept = []
while True:
    kept.append(bytes(1000))
    time.sleep(0.01)
' &
	target=$!
	wait_for 10 "python3 to be loaded" grep -q /python3 /proc/$target/maps
	sleep 1.2
}

says() { # FILE
	"$COLLECTOR" report "$1" | tr -s ' \n' ' ' >report.txt # lines are as wide as a terminal
	assert_contains "the report of $1" report.txt "watched from 20" "when it had run for" " until 20" "not freed while watched" "Not freed while watched"
	! grep -qi "never freed\|leaked" report.txt || fail "the report of $1 knows of leaks: $(cat report.txt)"
	"$COLLECTOR" leaks "$1" >leaks.txt
	assert_contains "the leaks of $1" leaks.txt "Not freed while watched: "
	"$COLLECTOR" top --value leaked "$1" >top.txt
	assert_contains "the ranking of $1" top.txt "Not freed while watched: "
	"$COLLECTOR" report --json "$1" | tr ',{' '\n\n' >json.txt
	assert_contains "the JSON of $1" json.txt '"watched_from_start":false'
}

echo "joined and left"
start_daemon
"$AGENT" attach -p $target --for 2s --output left.heapcast --quiet 2>attach.err || fail "$(cat attach.err)"
kill -KILL $target
wait $target 2>/dev/null || true
says left.heapcast
assert_contains "the report" report.txt "goes on, unrecorded"
assert_contains "the JSON" json.txt '"watched_to_end":false'
ran=$(sed -n 's/^"ran_before_ns"://p' json.txt)
[ "$ran" -ge 1000000000 ] && [ "$ran" -lt 60000000000 ] || fail "it had run for $ran ns"

echo "joined, and watched to its end"
start_daemon
attach -p $target --output joined.heapcast
sleep 1
kill -TERM $target
wait $target 2>/dev/null || true
attached_ended
says joined.heapcast
assert_contains "the JSON" json.txt '"watched_to_end":true'

echo "watched as a whole"
"$AGENT" run --quiet --output whole.heapcast -- python3 -c pass
"$COLLECTOR" report whole.heapcast >report.txt
assert_contains "the report" report.txt "never freed"
