#!/bin/bash
# /events: a page sees a program's recording appear while it runs, move with it, end, and go when it is removed. What
# does not change is not told again. All who watch see the same, by looks that they share. Entries are those of /list.
. "$(dirname "$0")/lib.sh"
need curl python3
port=18095
MANY=400 # more than one step of an answer holds
[ -x "$BUILD/tests/bench-intake" ] || skip "bench-intake is not built"

"$AGENT" run --quiet --output "$T/one.heapcast" -- /usr/bin/python3 -S -E -c pass
"$BUILD/tests/bench-intake" many "$T/data" "$T/one.heapcast" $MANY >"$T/many.out"
"$COLLECTOR" gather --data "$T/data" --interface lo --http "127.0.0.1:$port" >"$T/collector.out" 2>"$T/collector.err" &
collector_pid=$!
wait_for 10 "the collector to listen" collector_listens
get() {
	curl --silent --show-error --fail-with-body "http://127.0.0.1:$port$1"
}
wait_for 10 "the server" get /list
listed() { # STATE NUMBER
	[ "$(get /list | grep -o "\"state\":\"$1\"" | wc -l)" = "$2" ]
}
listed ended $MANY || fail "not all are listed"

for i in 1 2 3; do
	curl --silent --no-buffer "http://127.0.0.1:$port/events" >"$T/events.$i" &
	watchers[i]=$!
done
events() { # AT LEAST, in each
	local i
	for i in 1 2 3; do
		[ "$(grep -c '^event: list' "$T/events.$i")" -ge "$1" ] || return 1
	done
}
wait_for 10 "what there is" events 1

cat >"$T/work.py" <<'PYTHON'
import sys, time, os
keep = []
while not os.path.exists(sys.argv[1]):
    keep.append(bytearray(5000))
    time.sleep(0.001)
PYTHON
record /usr/bin/python3 -S -E "$T/work.py" "$T/enough" >"$T/agent.out" 2>"$T/agent.err" &
agent=$!
wait_for 40 "five more events" events 6
touch "$T/enough"
wait "$agent"
wait_for 20 "its end" listed ended $((MANY + 1))
told() { # TEXT, by each
	local i
	for i in 1 2 3; do
		tail -n 3 "$T/events.$i" | grep -qF -e "$1" || return 1
	done
}
wait_for 10 "the end to be told of" told '"state":"ended"'
quiet() { # nothing is told while nothing changes
	seen=$(wc -c <"$T/events.1")
	sleep 2.5
	[ "$seen" = "$(wc -c <"$T/events.1")" ]
}
wait_for 30 "silence" quiet
get /list >"$T/list.json"
second=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[-1]["id"])' "$T/list.json")
rm -rf "$T/data/streams/$second"
wait_for 10 "the removal to be told of" told "\"gone\":[\"$second\"]"

python3 - "$T" "$second" <<'PYTHON'
import json, sys
T, second = sys.argv[1:]
listed = {entry["id"]: entry for entry in json.load(open(f"{T}/list.json"))}
for i in (1, 2, 3):
    blocks = open(f"{T}/events.{i}").read().split("\n\n")
    assert blocks.pop() == "", "an event in its midst"
    events = [json.loads(block.removeprefix("event: list\ndata: ")) for block in blocks if not block.startswith(":")]
    first, later = events[0], events[1:]
    assert first["gone"] == [] and {e["id"]: e for e in first["changed"]} == {i: e for i, e in listed.items() if i != second}
    assert len(first["changed"]) == len(listed) - 1
    assert all(event["changed"] or event["gone"] for event in later), "an event without news"
    assert all(e["id"] == second for event in later for e in event["changed"]), "what has not changed is told again"
    entries = [e for event in later for e in event["changed"]]
    live = [e for e in entries if e["state"] == "live"]
    assert len(live) >= 3, len(live)
    for key in ("events", "recording_bytes"):
        values = [e[key] for e in entries]
        assert values == sorted(values) and values[0] < values[-1], (key, values)
    rates = [e["events_per_second"] for e in live if "events_per_second" in e]
    assert rates and max(rates) > 0, rates
    last = entries[-1]
    assert last["state"] == "ended" and "events_per_second" not in last, last
    assert last == listed[second], (last, listed[second])
    assert [event["gone"] for event in later if event["gone"]] == [[second]], later
PYTHON

# Watchers are bounded, with those of /live; who has gone makes room.
kill "${watchers[@]}"
wait "${watchers[@]}" || true
python3 - "$port" <<'PYTHON'
import json, socket, sys, time, urllib.request
port = int(sys.argv[1])
def watch(path="/events"):
    s = socket.create_connection(("127.0.0.1", port), 60)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return s
def status(s):
    head = b""
    while b"\r\n" not in head:
        more = s.recv(4096)
        assert more, head
        head += more
    return int(head.split()[1])
for _ in range(400): # until the three are gone
    sockets = [watch() for _ in range(70)]
    found = [status(s) for s in sockets]
    if found.count(200) == 64:
        break
    for s in sockets:
        s.close()
    time.sleep(0.05)
assert found.count(200) == 64 and found.count(503) == 6, found
assert status(watch("/data/last/live")) == 503
assert len(json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/list"))) > 1
for s in sockets:
    s.close()
for _ in range(400):
    with watch() as s:
        if status(s) == 200:
            break
    time.sleep(0.05)
else:
    raise SystemExit("no room after all have gone")
PYTHON
assert_eq "status of a parameter" 400 "$(curl -s -o "$T/400.json" -w '%{http_code}' "http://127.0.0.1:$port/events?size_min=1")"

kill -TERM "$collector_pid"
wait "$collector_pid" || fail "gather ended with $?"
