#!/bin/bash
# `agent serve --spool DIR` with no collector there: what memory has no room for goes to files, within the limit; a collector that
# comes then gets all of it, and the files go. An agent that is killed leaves a recording. A folder that can't be written, a
# full disk and a full spool are warnings; what is lost then is in a gap.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"

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

bytes_in() {
	find "$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'
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

# An agent dies, when a collector has had the beginning: its successor makes a recording of what it had spooled, in which
# nothing is without a definition.
serve dead --spool "$T/spool" --spool-limit 8M --policy block
gather dead.data --no-discovery --listen off 127.0.0.1:8101
target dead 2500000 1000
has_a_part() {
	[ "$(stat -c %s "$T"/dead.data/streams/*/recording.heapcast)" -gt 1500000 ]
}
wait_for 20 "the collector to have a part" has_a_part
kill_gather dead.data
wait_for 60 "the program to be done" grep -q "done" "$T/dead.out"
kill -KILL "${agent_pid[dead]}"
wait "${agent_pid[dead]}" 2>/dev/null || true
touch "$T/dead.end"
wait "${target_pid[dead]}"
find "$T/spool" -name '*.frames' | grep -q . || fail "the dead agent has left no files"
serve heir --spool "$T/spool"
assert_contains "the next agent's log" "$T/heir.err" "an earlier agent has ended before"
stop_agent heir
left=$(find "$T/spool" -type f ! -name lock)
"$COLLECTOR" ledger "$left" >"$T/ledger.txt" || { cat "$T/ledger.txt"; fail "what the dead agent has left does not balance"; }
"$COLLECTOR" ledger --json "$left" >"$T/ledger.json"
assert_contains "the ledger of it" "$T/ledger.json" '"bad_references":0' '"missing_batches":0'
grep -q '"before_join":[1-9]' "$T/ledger.json" || fail "what the collector had is in it, too"
rm "$left"

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
"$COLLECTOR" ledger "$left" >"$T/ledger.txt" || { cat "$T/ledger.txt"; fail "what the stopped agent has left does not balance"; }
"$COLLECTOR" ledger --json "$left" >"$T/ledger.json"
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
