#!/bin/bash
# A collector with fewer places than agents (--agents-max). An agent that finds no place is named and counted. It gets
# one when a stream has ended, also while the links of ended ones stay. Nothing of any is lost. If there are more
# streams than deriving has memory for (--memory-limit), some are parked. All their rows are there at the end, as if
# there were memory for all.
. "$(dirname "$0")/lib.sh"
need python3 curl
player=$BUILD/tests/bench-player
[ -x "$player" ] || skip "bench-player was not built"

cat >"$T/steady.py" <<'END'
import time
live = []
end = time.monotonic() + 2
while time.monotonic() < end:
    live.append(bytearray(1000 + len(live) % 500))
    if len(live) % 3 == 0:
        live.pop(0)
    time.sleep(0.001)
END
"$AGENT" run --quiet --output "$T/steady.heapcast" -- python3 "$T/steady.py"
truth=$("$COLLECTOR" top --json --value leaked --count 1 "$T/steady.heapcast" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')

gather() { # FOLDER OPTION...
	local folder=$1
	shift
	"$COLLECTOR" gather --data "$T/$folder" --no-discovery --listen 127.0.0.1:0 "$@" >"$T/$folder.out" 2>"$T/$folder.err" &
	gathering=$!
	wait_for 10 "the collector" grep -q "for agents that dial in" "$T/$folder.out"
	port=$(sed -n 's/.*TCP 127.0.0.1:\([0-9]*\) for agents.*/\1/p' "$T/$folder.out")
}
finish() { # FOLDER COUNT: all that came is there
	kill -INT "$gathering"
	wait "$gathering" || fail "the collector ended with $?"
	"$COLLECTOR" list --data "$T/$1" --json >"$T/$1.json"
	python3 - "$T/$1.json" "$2" "$truth" <<'END' || fail "the list is not as it should be"
import ast, json, sys
streams, count, truth = json.load(open(sys.argv[1]))["streams"], int(sys.argv[2]), ast.literal_eval(sys.argv[3])
assert len(streams) == count, len(streams)
for s in streams:
    assert s["state"] == "ended", s
    assert (s["in_use_bytes"], s["in_use_blocks"]) == (truth["bytes"], truth["blocks"]), (s, truth)
END
	ids=$(python3 -c 'import json, sys; print(*(s["id"] for s in json.load(open(sys.argv[1]))["streams"]))' "$T/$1.json")
	for stream in $ids; do
		"$COLLECTOR" ledger --data "$T/$1" "$stream" >"$T/ledger" || fail "$1: $(cat "$T/ledger")"
	done
}

gather places --agents-max 3 --http 127.0.0.1:18096
"$player" "$T/steady.heapcast" --agents 7 --dial 127.0.0.1:$port --stay --spread 0.2 --for 60 >"$T/player.out" &
playing=$!
wait_for 20 "somebody to be named" grep -q "^collector gather: board-[0-9]* at 127.0.0.1:[0-9]* has no place: there is room for 3 at a time" "$T/places.err"
told() {
	"$COLLECTOR" list --data "$T/places" >"$T/list.txt" 2>"$T/list.err"
	curl -sD "$T/head" -o "$T/list.json" http://127.0.0.1:18096/list
	curl -s --max-time 1 http://127.0.0.1:18096/events >"$T/events.txt" || [ $? = 28 ] # it has no end
	grep -qE "^collector list: not all is recorded here: [1-4] agents? ha(s|ve) no place, as there is room for 3 at a time \(--agents-max\): board-[0-9]+ at 127.0.0.1:" "$T/list.err" &&
		grep -qiE "^heapcast-incomplete: Incomplete: [1-4] agents? ha(s|ve) no place" "$T/head" &&
		grep -qE '^data: \{"incomplete":"Incomplete: [1-4] agents? ha(s|ve) no place' "$T/events.txt"
}
wait_for 5 "the lists to tell of them" told
wait_for 50 "all streams to end" eval '[ "$(grep -c " ended " "$T/places.out")" = 7 ]'
[ "$(grep -c "^disconnected from .*: it has nothing to send, and others want its place" "$T/places.out")" -ge 4 ] ||
	fail "nobody gave way: $(cat "$T/places.out")"
kill "$playing"
wait "$playing" || true
finish places 7
[ ! -e "$T/places/note" ] || fail "the note of who has no place is still there"

gather parked --memory-limit 8M
"$player" "$T/steady.heapcast" --agents 20 --dial 127.0.0.1:$port --cut 4 --for 60 >"$T/player.out" || fail "$(cat "$T/player.out")"
grep -q "^reconnects [1-9]" "$T/player.out" || fail "no link was cut"
wait_for 30 "all streams to end" eval '[ "$(grep -c " ended " "$T/parked.out")" = 20 ]'
finish parked 20

# A collector that is killed has not summed up what it took last: the list says what the report says all the same, and the next collector
# keeps it.
gather killed --memory-limit 4M
"$player" "$T/steady.heapcast" --agents 3 --dial 127.0.0.1:$port --for 1.2 >"$T/player.out" || true
sleep 1.2
kill -KILL "$gathering"
wait "$gathering" || true
as_reported() {
	"$COLLECTOR" list --data "$T/killed" --json >"$T/killed.json"
	python3 - "$COLLECTOR" "$T/killed" "$T/killed.json" <<'END'
import json, subprocess, sys
collector, data, file = sys.argv[1:]
streams = json.load(open(file))["streams"]
assert len(streams) == 3, len(streams)
for s in streams:
    top = json.loads(subprocess.run([collector, "top", "--data", data, "--json", "--value", "leaked", "--count", "1", s["id"]],
                                    check=True, stdout=subprocess.PIPE).stdout)["total"]
    assert s["state"] == "interrupted" and "breaks off" in s["incomplete"], s
    assert (s["in_use_bytes"], s["in_use_blocks"]) == (top["bytes"], top["blocks"]), (s, top)
END
}
as_reported || fail "the list of a collector that was killed is wrong"
gather killed
summed() { [ "$(sqlite3 "$T/killed/catalogue.sqlite" 'select count(*) from streams where summed_bytes = recording_bytes')" = 3 ]; }
if command -v sqlite3 >/dev/null; then wait_for 10 "the sums to be kept" summed; fi
kill -INT "$gathering"
wait "$gathering" || true
as_reported || fail "the list after the next collector is wrong"
