#!/bin/bash
# ctest: LABELS full
# What a board has kept because its collector was gone: `collector import` goes on with the stream that is interrupted, and the account balances
# over both. From the file that `agent run` writes, from the folder of --spool; in pieces, twice, damaged, and where there was nothing before.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need python3

import() { # NAME FILE...
	local name=$1
	shift
	"$COLLECTOR" import --data "$T/$name" "$@" >"$T/import.out" 2>"$T/import.err" || {
		cat "$T/import.err" >&3
		fail "import of $*"
	}
}

state_is() { # NAME STATE
	"$COLLECTOR" list --data "$T/$1" >"$T/list.out" 2>"$T/list.err"
	assert_contains "list of $1" "$T/list.out" "$2"
}

has_events() { # NAME COUNT: or more
	"$COLLECTOR" list --data "$T/$1" --json | python3 -c '
import json, sys
sys.exit(sum(s["events"] for s in json.load(sys.stdin)["streams"]) < int(sys.argv[1]))' "$2"
}

# all NAME EVENTS BYTES BLOCKS: the stream has an end, and all events that the program began
all() {
	local stream
	state_is "$1" ended
	stream=$(streams "$1")
	"$COLLECTOR" ledger --data "$T/$1" "$stream" >"$T/ledger.txt" || { cat "$T/ledger.txt" >&3; fail "$1 is not complete"; }
	assert_eq "$1: stored" "$2" "$(ledger_number "$1" "$stream" stored)"
	assert_eq "$1: bytes, and blocks that are left" "$3 $4" "$("$COLLECTOR" report --data "$T/$1" --json "$stream" | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["allocated"]["bytes"], r["leaked"]["blocks"])')"
}

# The truth, without an interruption.
"$AGENT" run --quiet --output "$T/whole.heapcast" -- "$BUILD/tests/e2e-paced" 1200000 100 /dev/null >"$T/whole.out"
read -r events bytes leaked < <("$COLLECTOR" report --json "$T/whole.heapcast" | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["allocated"]["blocks"], r["allocated"]["bytes"], r["leaked"]["blocks"])')
produced=$("$COLLECTOR" ledger --json "$T/whole.heapcast" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored"])')
echo "the program: $produced events, $events blocks, $leaked of them left"

# ---- the collector dies in the middle ----

gather dead --no-discovery --listen off 127.0.0.1:8158
cd "$T"
start_agent board 8158 --linger 300ms --memory-limit 4M -- "$BUILD/tests/e2e-paced" 1200000 10000 "$T/end"
wait_for 20 "a part" has_events dead $((produced * 8 / 10))
kill_gather dead
touch "$T/end"
wait_agent board
cd "$ROOT"
rest=$(ls "$T"/heapcast_e2e-paced_*.heapcast)
state_is dead interrupted
assert_contains "the hint" "$T/list.err" "collector import FILE"
before=$(ledger_number dead "$(streams dead)" stored)
[ "$before" -lt "$produced" ] || fail "nothing was left"
cp -a "$T/dead" "$T/pieces"
cp -a "$T/dead" "$T/broken"
import dead "$rest"
assert_contains "what import says" "$T/import.out" "the rest of a stream that had" "e2e-paced" "its end is there"
all dead "$produced" "$bytes" "$leaked"
echo "a dead collector had $before events; $(wc -c <"$rest") bytes brought the rest"
cmp "$(recording_of dead "$(streams dead)")" "$rest" >/dev/null 2>&1 && fail "the file was the whole stream: that shows nothing"
size=$(stat -c %s "$(recording_of dead "$(streams dead)")")
import dead "$rest"
assert_contains "again" "$T/import.out" "nothing new of a stream"
assert_eq "nothing more is stored" "$size" "$(stat -c %s "$(recording_of dead "$(streams dead)")")"
! grep -q import "$T/list.err" || fail "a hint where there is nothing to be done"

# As far as half a file goes, and then the rest.
head -c $(($(wc -c <"$rest") / 2)) "$rest" >"$T/half.heapcast"
import pieces "$T/half.heapcast"
assert_contains "half" "$T/import.out" "it has no end yet"
state_is pieces interrupted
import pieces --json "$rest"
python3 -c '
import json, sys
(r,) = json.load(open(sys.argv[1]))["files"]
assert r["format"] == "heapcast" and r["events"] > 0, r' "$T/import.out"
all pieces "$produced" "$bytes" "$leaked"

# Damage: up to there, and it says so.
cp "$rest" "$T/damaged.heapcast"
printf 'XXXXXXXX' | dd of="$T/damaged.heapcast" bs=1 seek=$(($(wc -c <"$rest") * 9 / 10)) conv=notrunc status=none
import broken --json "$T/damaged.heapcast"
assert_contains "damage" "$T/import.out" "is damaged at byte" "no end yet"
import broken "$rest"
all broken "$produced" "$bytes" "$leaked"

# Where nothing was: a stream like any other.
import new "$T/whole.heapcast"
assert_contains "a new one" "$T/import.out" "new here"
all new "$produced" "$bytes" "$leaked"
import empty "$rest"
"$COLLECTOR" ledger --data "$T/empty" last >"$T/ledger.txt" && fail "what came before is missing, and nobody says so"
assert_contains "the rest alone" "$T/ledger.txt" "adds up"

# ---- the folder of --spool: of an agent that is killed ----

gather spool --no-discovery --listen off 127.0.0.1:8159
"$AGENT" serve --config "" --socket @rest --listen 127.0.0.1:8159 --spool "$T/folder" --spool-limit 4M --memory-limit 2M --policy block --block-max 60s 2>"$T/daemon.err" &
daemon=$!
wait_for 10 "the daemon" grep -q "programs ask" "$T/daemon.err"
HEAPCAST_SOCKET=@rest LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-paced" 1200000 3000 "$T/end2" >"$T/spooled.out" &
program=$!
wait_for 20 "a part" has_events spool $((produced / 10))
kill_gather spool
wait_for 60 "the program" grep -q done "$T/spooled.out"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
touch "$T/end2"
wait "$program"
files=$(find "$T/folder" -name '*.frames' | wc -l)
[ "$files" -ge 2 ] || fail "nothing was spooled: $(ls "$T/folder")"
before=$(ledger_number spool "$(streams spool)" stored)
cp -a "$T/spool" "$T/late"
# shellcheck disable=SC2046
import spool $(find "$T/folder" -name '*-*' -type f | sort -r)
after=$(ledger_number spool "$(streams spool)" stored)
assert_eq "lost" 0 "$(ledger_number spool "$(streams spool)" lost)"
[ "$after" -gt $((produced * 6 / 10)) ] || fail "$before events became $after"
balances spool
state_is spool interrupted
echo "$files files of a spool made $after events of $before"

# Without the first of them there is a gap, which is told of; without definitions nothing goes.
last=$(find "$T/folder" -name '*.frames' | sort -V | tail -n 1)
assert_status 2 "$COLLECTOR" import --data "$T/late" "$last" 2>"$T/import.err"
assert_contains "batches that don't follow" "$T/import.err" "${last##*/}" "was expected"
import late "${last%.frames}.definitions" "$last"
assert_contains "batches that are missing" "$T/import.out" "in between are missing"
balances late

# ---- what is none ----

head -c 100000 /dev/urandom >"$T/noise"
{ head -c 4 "$rest"; cat "$T/noise"; } >"$T/noise.heapcast"
assert_status 2 "$COLLECTOR" import --data "$T/none" "$T/noise.heapcast" 2>"$T/import.err"
assert_contains "noise" "$T/import.err" "is no recording"
[ -z "$(ls "$T/none/streams" 2>/dev/null)" ] || fail "noise has left a stream"
