#!/bin/bash
# ctest: LABELS full
# `agent serve --spool DIR` with no collector there. What memory has no room for goes to files, within the limit. A
# collector that comes then gets all of it, and the files go. The next agent brings what a killed agent has left there:
# to a collector that had the beginning, and to one that comes new. If the program lives, this comes before what
# follows. A folder that can't be written, a full disk and a full spool are warnings. What is lost then is in a gap.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
. "$TEST_SOURCE/lib-takeup.sh" # can_take_up

# serve NAME OPTION...: an agent for programs that ask at @NAME
serve() {
	local name=$1
	shift
	"$AGENT" serve --socket "@$name" --listen 127.0.0.1:8101 --memory-limit 4M "$@" 2>>"$T/$name.err" &
	agent_pid[$name]=$!
	wait_for 10 "agent serve" grep -q "programs ask" "$T/$name.err"
}

# target NAME EVENTS PAUSE: ${target_pid[NAME]}; it ends when there is $T/NAME.end
declare -A target_pid
target() {
	HEAPCAST_SOCKET="@$1" LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-paced" "$2" "$3" "$T/$1.end" >"$T/$1.out" &
	target_pid[$1]=$!
}

# Files that go while it counts are not counted.
bytes_in() {
	{ find "$1" -type f -printf '%s\n' 2>/dev/null || true; } | awk '{ n += $1 } END { print n + 0 }'
}

stop_agent() {
	local status=0
	kill -TERM "${agent_pid[$1]}"
	wait "${agent_pid[$1]}" || status=$?
	assert_eq "exit status of agent serve" 0 "$status"
}

# All of it, many times what memory keeps, and nothing left behind.
serve all --spool "$T/spool" --spool-limit 32M --policy block
target all 1500000 1000
wait_for 60 "the program to be done" grep -q "done" "$T/all.out"
touch "$T/all.end"
wait "${target_pid[all]}"
spooled=$(bytes_in "$T/spool")
[ "$spooled" -gt 1000000 ] || fail "only $spooled bytes were spooled"
used=$(awk '/^Rss(Anon|Shmem):/ { kib += $2 } END { print kib }' "/proc/${agent_pid[all]}/status")
[ "$used" -le 4096 ] || fail "the agent takes $used KiB, its limit is 4 MiB"
gather all.data --no-discovery --listen off 127.0.0.1:8101
wait_idle all.data 1
balances all.data
stream=$(streams all.data)
assert_eq "lost" 0 "$(ledger_number all.data "$stream" lost)"
[ "$(ledger_number all.data "$stream" stored)" -gt 1480000 ] || fail "too few events"
assert_eq "missed" 0 "$(ledger_number all.data "$stream" before_join)"
stop_gather all.data
stop_agent all
assert_eq "files that are left in the spool" "lock" "$(ls "$T/spool")"

kill_agent() {
	kill -KILL "${agent_pid[$1]}"
	wait "${agent_pid[$1]}" 2>/dev/null || true
}

has_a_part() {
	[ "$(stat -c %s "$T/$1"/streams/*/recording.heapcast)" -gt 1500000 ]
}

spool_is_empty() {
	[ "$(ls "$1")" = lock ]
}

# NAME FOLDER: no batch twice, none missing, nothing undefined; prints "stored lost before_join" of its only stream
whole() {
	local stream
	stream=$(streams "$1")
	balances "$1"
	adds_up --data "$T/$1" --json "$stream" >"$T/ledger.json"
	assert_contains "the ledger of $1" "$T/ledger.json" '"bad_references":0' '"missing_batches":0' '"duplicate_batches":0'
	echo "$(ledger_number "$1" "$stream" stored) $(ledger_number "$1" "$stream" lost) $(ledger_number "$1" "$stream" before_join)"
}

# An agent dies when a collector has had the beginning, and the program has ended, too.
mkdir "$T/left"
serve dead --spool "$T/left" --spool-limit 8M --policy block
gather dead.data --no-discovery --listen off 127.0.0.1:8101
target dead 2500000 1000
wait_for 20 "the collector to have a part" has_a_part dead.data
kill_gather dead.data
wait_for 60 "the program to be done" grep -q "done" "$T/dead.out"
kill_agent dead
touch "$T/dead.end"
wait "${target_pid[dead]}"
[ -n "$(find "$T/left" -name '*.frames')" ] || fail "the dead agent has left no files"
before=$(find "$T/left" -type f ! -name lock -printf '%s %f\n' | sort)
part=$(ledger_number dead.data "$(streams dead.data)" stored)
cp -r "$T/left" "$T/left.new"
cp -r "$T/left" "$T/left.damaged"

# Nobody comes: the files stay, and so they do when that agent is killed in its turn.
serve heir --linger 2s --spool "$T/left" --spool-limit 8M
assert_contains "the next agent's log" "$T/heir.err" "an earlier agent ended before a collector had received everything: 1 stream"
stop_agent heir
serve heir2 --linger 2s --spool "$T/left" --spool-limit 8M
kill_agent heir2
assert_eq "files that an agent without collectors has left" "$before" "$(find "$T/left" -type f ! -name lock -printf '%s %f\n' | sort)"

# The collector comes again, to an agent of the least memory, gets the rest, and the files go.
serve heir3 --linger 2s --spool "$T/left" --memory-limit 2M
used=$(awk '/^Rss(Anon|Shmem):/ { kib += $2 } END { print kib }' "/proc/${agent_pid[heir3]}/status")
[ "$used" -le 2048 ] || fail "the agent takes $used KiB, its limit is 2 MiB"
gather dead.data --no-discovery --listen off 127.0.0.1:8101
wait_for 60 "the files to go" spool_is_empty "$T/left"
stop_gather dead.data
stop_agent heir3
read -r stored lost missed <<<"$(whole dead.data)"
[ "$stored" -gt $((part + 400000)) ] || fail "only $stored events came, $part of them before the agent died"
assert_eq "lost, and before it joined" "0 0" "$lost $missed"
echo "of 2,500,000 events $part were stored when the agent died, and $stored at the end, from $(wc -l <<<"$before") files"

# One that has nothing begins with the definitions.
serve heir4 --linger 2s --spool "$T/left.new" --spool-limit 8M
gather new.data --no-discovery --listen off 127.0.0.1:8101
wait_for 60 "the files to go" spool_is_empty "$T/left.new"
stop_gather new.data
stop_agent heir4
read -r stored_new lost missed <<<"$(whole new.data)"
assert_eq "events that the new collector has, and those before" "$stored" $((stored_new + missed))
[ "$missed" -gt 0 ] || fail "it has joined late, and nothing says so"

# Files of which a piece is missing: what is whole is sent, and the rest is told.
damaged=$(find "$T/left.damaged" -name '*.frames' | sort | sed -n 2p)
printf 'damage' | dd of="$damaged" bs=1 seek=$(($(stat -c %s "$damaged") / 2)) conv=notrunc status=none
# One in which something whole is left: a file that has nothing stays.
last=$(find "$T/left.damaged" -name '*.frames' -size +32k | sort | tail -n 1)
truncate -s -10 "$last"
serve heir5 --linger 2s --spool "$T/left.damaged" --spool-limit 8M
assert_contains "the next agent's log" "$T/heir5.err" "2 files in $T/left.damaged that an earlier agent left are damaged"
gather damaged.data --no-discovery --listen off 127.0.0.1:8101
wait_for 60 "the files to go" spool_is_empty "$T/left.damaged"
stop_gather damaged.data
stop_agent heir5
read -r stored_damaged lost missed <<<"$(whole damaged.data)"
[ "$stored_damaged" -lt "$stored_new" ] && [ "$stored_damaged" -gt $((stored_new / 2)) ] ||
	fail "$stored_damaged events came of $stored_new, from damaged files"

# The program lives, and the next agent takes its ring up: what was left comes first, then the stream goes on, as if the
# collector had been there all the time.
serve gone --linger 2s --spool "$T/spool" --spool-limit 8M --policy block
gather on.data --no-discovery --listen off 127.0.0.1:8101
target gone 3500000 1000
wait_for 20 "the collector to have a part" has_a_part on.data
kill_gather on.data
left_two() {
	[ "$({ find "$T/spool" -name '*.frames' 2>/dev/null || true; } | wc -l)" -ge 2 ]
}
wait_for 60 "two files in the spool" left_two
kill_agent gone
if can_take_up; then
	serve gone --linger 2s --spool "$T/spool" --spool-limit 8M --policy block
	wait_for 10 "the ring to be taken up" grep -q "which another agent had begun to record" "$T/gone.err"
	gather on.data --no-discovery --listen off 127.0.0.1:8101
	wait_for 60 "the program to be done" grep -q "done" "$T/gone.out"
	touch "$T/gone.end"
	wait "${target_pid[gone]}"
	wait_idle on.data 1
	wait_for 60 "the files to go" spool_is_empty "$T/spool"
	stop_gather on.data
	stop_agent gone
	read -r stored lost missed <<<"$(whole on.data)"
	assert_eq "before it joined" 0 "$missed"
	[ "$stored" -gt 1000000 ] || fail "only $stored events came"
	echo "with a program that lived: $stored events stored, $lost lost with the agent"
else
	touch "$T/gone.end"
	wait "${target_pid[gone]}"
	echo "the ring of a program that lives can't be taken up here: not tried"
	rm -f "$T"/spool/*.frames "$T"/spool/*.definitions
fi

# The limit holds; when the program has waited as long as it may, what is lost is told.
serve small --spool "$T/spool" --spool-limit 1M --policy block --block-max 300ms
: >"$T/small.out"
target small 3000000 1000
most=0
until grep -q "done" "$T/small.out"; do
	now=$(bytes_in "$T/spool")
	[ "$now" -le "$most" ] || most=$now
	sleep 0.05
done
touch "$T/small.end"
wait "${target_pid[small]}"
[ "$most" -le 1048576 ] || fail "the spool has grown to $most bytes"
assert_contains "the agent's log" "$T/small.err" "the spool in $T/spool is full"
gather small.data --no-discovery --listen off 127.0.0.1:8101
wait_idle small.data 1
balances small.data
stream=$(streams small.data)
lost=$(ledger_number small.data "$stream" lost)
[ "$lost" -gt 1000 ] || fail "only $lost events were lost"
stop_gather small.data
stop_agent small
assert_eq "files that are left in the spool" "lock" "$(ls "$T/spool")"

# Told to end with nobody there, the agent leaves a recording in the folder, and no other files.
serve stopped --spool "$T/spool" --policy block
target stopped 1000000 1000
wait_for 60 "the program to be done" grep -q "done" "$T/stopped.out"
stop_agent stopped
touch "$T/stopped.end"
wait "${target_pid[stopped]}"
left=$(find "$T/spool" -type f ! -name lock)
adds_up "$left" >"$T/ledger.txt" || { cat "$T/ledger.txt"; fail "what the stopped agent has left does not balance"; }
adds_up --json "$left" >"$T/ledger.json"
assert_contains "the ledger of it" "$T/ledger.json" '"lost":0' '"before_join":0' '"missing_batches":0'
rm "$left"

# No folder, a full disk: warnings, and the recording goes on.
serve none --spool /proc/nowhere --policy count
assert_contains "the agent's log" "$T/none.err" "can't spool to /proc/nowhere"
stop_agent none
echo "spooled $spooled bytes, the agent took $used KiB; within a limit of 1 MiB $most, $lost events of 3,000,000 in gaps"
unshare --mount true 2>/dev/null || exit 0
mkdir "$T/disk"
cat >"$T/serve" <<-'END'
	mount -t tmpfs -o size=600k none "$1/disk" || exit 77
	shift
	exec "$@"
END
unshare --mount -- bash "$T/serve" "$T" "$AGENT" serve --socket @full --listen 127.0.0.1:8101 --memory-limit 4M \
	--spool "$T/disk/spool" --policy block --block-max 300ms 2>"$T/full.err" &
agent_pid[full]=$!
wait_for 10 "agent serve" grep -q "programs ask" "$T/full.err"
target full 2000000 1000
wait_for 60 "the program to be done" grep -q "done" "$T/full.out"
touch "$T/full.end"
wait "${target_pid[full]}"
assert_contains "the agent's log" "$T/full.err" "can't spool to $T/disk/spool: No space left on device"
gather full.data --no-discovery --listen off 127.0.0.1:8101
wait_idle full.data 1
balances full.data
stop_gather full.data
stop_agent full
