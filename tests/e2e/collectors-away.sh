#!/bin/bash
# ctest: LABELS full
# Two collectors at one agent, and one of them is away. An acknowledgement of the other takes nothing from it. What it
# lacks waits in the spool until it comes back, at the end for a while. Then it is in a file if --collector names its
# host. Without that the summary says by name who took the recording and who did not. A stranger with the id of another
# collector is another one.
# ctest: TIMEOUT 300
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-net.sh"

has_grown() { # NAME FROM BYTES
	[ "$(stat -c %s "$T/$1"/streams/*/recording.heapcast)" -gt $(($2 + $3)) ]
}
size_of() {
	stat -c %s "$T/$1"/streams/*/recording.heapcast
}
began() {
	wait_for 20 "$1 to have the stream" grep -q began "$T/$1.log"
}
# serve NAME PREFIX... -- OPTION...: an agent with a spool on disk; PREFIX says where it runs, and its program.
prefix=()
serve() {
	local name=$1
	shift
	prefix=()
	while [ "$1" != -- ]; do
		prefix+=("$1")
		shift
	done
	shift
	"${prefix[@]}" "$AGENT" serve --socket "$T/$name.socket" --memory-limit 4M --policy block --log info "$@" 2>"$T/$name.err" &
	agent_pid[$name]=$!
	wait_for 10 "agent serve" grep -q "programs ask" "$T/$name.err"
}
both_came() { # NAME
	[ "$(grep -c "it is vm" "$T/$1.err")" = 2 ]
}
# A program of so many events that it records; both collectors are there before, so that both get all of it.
run_there() { # NAME EVENTS
	wait_for 20 "both collectors to be there" both_came "$1"
	"${prefix[@]}" env HEAPCAST_SOCKET="$T/$1.socket" LD_PRELOAD="$PRELOAD" "$BUILD/tests/e2e-paced" "$2" 1500 "$T/end" >"$T/$1.out" &
	program=$!
}
end_serve() {
	wait "$program"
	kill -TERM "${agent_pid[$1]}"
	wait_agent "$1"
}
at_agent=(--no-discovery --listen off 127.0.0.1:8101)

# It comes back while the program runs, after much more than memory keeps.
serve back -- --listen 127.0.0.1:8101 --spool "$T/spool"
gather mine "${at_agent[@]}"
gather other "${at_agent[@]}"
run_there back 2000000
began mine
began other
wait_for 20 "mine to have a part" has_grown mine 0 100000
kill_gather mine
from=$(size_of other)
wait_for 60 "the other one to have more than memory keeps" has_grown other "$from" 2000000
gather mine "${at_agent[@]}"
wait_for 60 "the program to be done" grep -q "done" "$T/back.out"
touch "$T/end"
for name in mine other; do wait_idle $name 1; done
end_serve back
for name in mine other; do stop_gather $name; balances $name; done
same_columns mine other
assert_eq "lost" 0 "$(ledger_number mine "$(streams mine)" lost)"
assert_eq "missed" 0 "$(ledger_number mine "$(streams mine)" before_join)"
assert_eq "files that are left in the spool" "lock" "$(ls "$T/spool")"
rm -rf "$T"/{mine,other}{,.log,.err} "$T/end"

# It comes back when the program has ended: later than a laggard that is connected is waited for.
start_agent end 8101 --linger 40s -- "$BUILD/tests/e2e-paced" 200000 1500 "$T/end"
gather mine "${at_agent[@]}"
gather other "${at_agent[@]}"
began mine
began other
kill_gather mine
wait_for 60 "the program to be done" grep -q "done" "$T/end.out"
touch "$T/end"
wait_idle other 1
sleep 14
gather mine "${at_agent[@]}"
wait_idle mine 1
wait_agent end
for name in mine other; do stop_gather $name; balances $name; done
same_columns mine other
assert_contains "the agent" "$T/end.err" "waiting up to 40 s for" "which has only a part of the recording and is away"
rm -rf "$T"/{mine,other}{,.log,.err} "$T/end"

# NAME OPTION...: it does not come back; the other one has all. The summary is in NAME.err; what it writes goes to the folder NAME.cwd.
never_back() {
	local name=$1
	shift
	rm -rf "$T"/{mine,other}{,.log,.err} "$T/end"
	mkdir "$T/$name.cwd"
	gather mine --no-discovery "${mine[@]}"
	[ "$name" != named ] || wait_for 10 "mine to listen" grep -q "listening on" "$T/mine.log"
	(cd "$T/$name.cwd" && exec "$AGENT" run --policy block --listen 127.0.0.1:8101 --linger 1s "$@" -- \
		"$BUILD/tests/e2e-paced" 400000 1500 "$T/end" >"$T/$name.out" 2>"$T/$name.err") &
	agent_pid[$name]=$!
	gather other "${at_agent[@]}"
	began mine
	began other
	wait_for 20 "mine to have a part" has_grown mine 0 20000
	kill_gather mine
	wait_for 60 "the program to be done" grep -q "done" "$T/$name.out"
	touch "$T/end"
	wait_idle other 1
	wait_agent "$name"
	stop_gather other
	balances other
	assert_contains "the summary" "$T/$name.err" "taken by $(uname -n) (127.0.0.1" "only a part was taken by $(uname -n) (127.0.0.1"
}

# Nobody has named it: no file.
mine=(--listen off 127.0.0.1:8101)
never_back anybody
assert_contains "the summary" "$T/anybody.err" "it was away at the end"
assert_eq "files" "" "$(ls "$T/anybody.cwd")"

# The rest is in a file, which goes into its recording.
rest_is_in_file() { # NAME WHAT_IT_SAYS
	local file before
	file=$(echo "$T/$1".cwd/*)
	assert_contains "the summary" "$T/$1.err" "$2" "collector import"
	before=$(ledger_number mine "$(streams mine)" stored)
	"$COLLECTOR" import --data "$T/mine" "$file" >"$T/import.out" 2>&1 || { cat "$T/import.out" >&3; fail "the rest can't be imported"; }
	balances mine
	[ "$before" -lt "$(ledger_number mine "$(streams mine)" stored)" ] || fail "nothing was missing"
}

# It is named.
mine=(--listen 127.0.0.1:8201)
never_back named --collector 127.0.0.1:8201
rest_is_in_file named "the rest is in"
assert_eq "events" "$(ledger_number other "$(streams other)" stored)" "$(ledger_number mine "$(streams mine)" stored)"

# Both have the agent's key, and the program has no pause: the file is written while the other one acknowledges, and has what there was room
# for.
if grep -q -e --key <("$AGENT" run --help); then
	rm -rf "$T"/{mine,other}{,.log,.err}
	mkdir "$T/keyed.cwd"
	(umask 077 && od -An -vtx1 -N32 /dev/urandom | tr -d ' \n' >"$T/key")
	(cd "$T/keyed.cwd" && exec "$AGENT" run --policy block --listen 127.0.0.1:8101 --linger 1s --key "$T/key" -- \
		"$BUILD/tests/e2e-stalls" 1 6000 >"$T/keyed.out" 2>"$T/keyed.err") &
	agent_pid[keyed]=$!
	for name in mine other; do gather $name --key "$T/key" "${at_agent[@]}"; done
	for name in mine other; do began $name; done
	wait_for 20 "mine to have a part" has_grown mine 0 20000
	kill_gather mine
	wait_agent keyed
	stop_gather other
	balances other
	rest_is_in_file keyed "of the rest there was room for the end only"
fi

# A stranger elsewhere says that it is mine, and takes everything: mine is not cut off, and what it lacks while it stands still stays.
rm -rf "$T"/{mine,other}{,.log,.err} "$T/end"
net_host board 2
net_host desk 3
net_host stranger 4
serve board nsenter --net="/proc/${net_pid[board]}/ns/net" -- --listen 0.0.0.0:8100 --spool "$T/spool2"
gather_on desk 10.77.0.2 --data "$T/desk"
wait_for 20 "the id of desk" test -s "$T/desk/collector-id"
cp -r "$T/desk/collector-id" "$T/id"
mkdir -m 700 "$T/stranger"
cp "$T/id" "$T/stranger/collector-id"
gather_on stranger 10.77.0.2 --data "$T/stranger"
run_there board 1500000
for name in desk stranger; do began $name; done
kill -STOP "${gatherer[desk]}"
wait_for 60 "the stranger to have more than memory keeps" has_grown stranger 0 2000000
kill -CONT "${gatherer[desk]}"
wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
touch "$T/end"
wait_idle desk 1
end_serve board
for name in desk stranger; do stop_gather $name; done
balances desk
assert_eq "lost" 0 "$(ledger_number desk "$(streams desk)" lost)"
if grep -q "has come again" "$T/board.err"; then fail "a stranger has cut the connection of another collector"; fi

# The link is slow: a collector that comes back at the end has greeted long before it can ask for the stream.
rm -rf "$T"/desk{,.log} "$T"/stranger{,.log} "$T/end" "$T/board.err"
if on desk tc qdisc add dev eth0 root tbf rate 6kbit burst 400 latency 9s 2>/dev/null; then
	serve_on board --linger 60s -- "$BUILD/tests/e2e-paced" 200000 1500 "$T/end"
	gather_on stranger 10.77.0.2
	gather_on desk 10.77.0.2
	began stranger
	wait_for 60 "the agent to send the stream to desk" grep -q "10.77.0.3:.* sends stream" "$T/board.err"
	kill_gather desk
	wait_for 60 "the program to be done" grep -q "done" "$T/board.out"
	touch "$T/end"
	wait_idle stranger 1
	gather_on desk 10.77.0.2
	wait_idle desk 1
	wait "${agent_pid[board]}"
	for name in desk stranger; do stop_gather $name; done
	whole desk
else
	echo "this kernel has no tbf (token bucket filter): coming back over a slow link was not tried"
fi
