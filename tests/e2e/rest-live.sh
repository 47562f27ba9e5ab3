#!/bin/bash
# /data/ID/live: totals come while the program runs, grow, and end with it on the numbers of the report. Watchers are bounded, one that
# has gone makes room, and none of them holds up other questions.
. "$(dirname "$0")/lib.sh"
need curl python3
start_collector
cat >"$T/work.py" <<'PYTHON'
import sys, time, os
keep = []
for i in range(20000):
    keep.append(bytearray(5000 + i))
    time.sleep(0.005)
    if os.path.exists(sys.argv[1]):
        break
PYTHON
"$AGENT" run --policy block --announce --interface lo --quiet -- /usr/bin/python3 -S -E "$T/work.py" "$T/enough" >"$T/agent.out" 2>"$T/agent.err" &
agent=$!

"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18086 >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18086 "$T/serve.out"
get() {
	curl --silent --show-error --fail-with-body "http://127.0.0.1:18086$1"
}
has_stream() {
	get /list | grep -q python3
}
wait_for 20 "the stream" has_stream

get /data/last/live >"$T/live" &
watcher=$!
totals() {
	[ "$(grep -c '^event: totals' "$T/live")" -ge "$1" ]
}
wait_for 40 "three totals" totals 3
get "/data/last/allocations?count=1" >"$T/beside.json"

# As many as there may be, and some more, while another question is answered; when they are gone there is room again.
python3 - <<'PYTHON'
import json, socket, time, urllib.request
def watch():
    s = socket.create_connection(("127.0.0.1", 18086), 60)
    s.sendall(b"GET /data/last/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return s
def status(s):
    head = b""
    while b"\r\n" not in head:
        more = s.recv(4096)
        assert more, head
        head += more
    return int(head.split()[1])
sockets = [watch() for _ in range(70)]
found = [status(s) for s in sockets]
assert found.count(200) == 63 and found.count(503) == 7, found # curl is the 64th
assert json.load(urllib.request.urlopen("http://127.0.0.1:18086/data/last/report"))["allocated"]["blocks"] > 0
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

touch "$T/enough"
wait "$agent"
wait_collector
wait_for 20 "the watcher to be told of the end" grep -q '^event: end' "$T/live"
wait "$watcher" || fail "the answer did not end well: $?"
get /data/last/report >"$T/report.json"
assert_eq "status of a parameter" 400 "$(curl -s -o "$T/400.json" -w '%{http_code}' 'http://127.0.0.1:18086/data/last/live?size_min=1')"
assert_eq "status of a stream that is not there" 404 "$(curl -s -o "$T/404.json" -w '%{http_code}' 'http://127.0.0.1:18086/data/ffff/live')"

python3 - "$T" <<'PYTHON'
import json, sys
T = sys.argv[1]
blocks = open(f"{T}/live").read().split("\n\n")
assert blocks[-1] == "" and blocks[-2] == 'event: end\ndata: {"state":"ended"}', blocks[-2:]
totals = [json.loads(block.split("data: ", 1)[1]) for block in blocks if block.startswith("event: totals\n")]
counts = [t["allocated"]["blocks"] for t in totals]
assert len(counts) >= 3 and counts == sorted(counts) and counts[0] < counts[-1], counts
assert all(t["lost"] == 0 and t["events"] >= t["allocated"]["blocks"] for t in totals)
report = json.load(open(f"{T}/report.json"))
for key in report:
    assert totals[-1][key] == report[key], (key, totals[-1][key], report[key])
PYTHON

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
