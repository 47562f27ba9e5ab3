#!/bin/bash
# What /openapi.json says of answers is what they are. Every path that has a schema is asked, with many parameters. The
# recordings are complete, sampled, live, imported, culled, with losses and with maps. Each answer is validated against
# its schema. Every member that is declared is seen at least once, and nothing else.
# ctest: LABELS full COST 60
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-export.sh"
. "$TEST_SOURCE/lib-death.sh"
need curl taskset c++
python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip "python3 has no jsonschema"
record_branches
"$AGENT" run --quiet --mode sample=4K --output sampled.heapcast -- "$PROGRAM"
"$AGENT" run --quiet --mode sample=4K --output sampled-grown.heapcast -- "$PROGRAM" grown
"$AGENT" run --quiet --figures-interval 100ms --allocator-figures --gather-maps=100ms --output maps.heapcast -- "$TARGETS/holes"
"$AGENT" run --quiet --short-lived 1ms --output culled.heapcast -- /usr/bin/python3 -S -E -c 'import time
for i in range(300): x = [bytearray(700 + k) for k in range(i)]; time.sleep(0.001)'
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" "$AGENT" run --quiet --memory-limit 2M --policy count --output lost.heapcast -- "$WITNESS" truth 3 _exit 6 || [ $? = 8 ]
"$AGENT" run --quiet --follow --memory-limit 2M --output 'followed.no-room.%p' -- /bin/bash -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait'
timeout 30 "$AGENT" run --quiet --follow --memory-limit 16M --output 'followed.%p' -- "$TARGETS/forks" prefork 1 >forks.out
for file in followed.*; do mv "$file" "$file.heapcast"; done
"$AGENT" run --quiet --output mapped.heapcast -- "$TARGETS/mappings" >mappings.out
printf 'static char *kept = new char[4000];\nint main() { return !kept; }\n' >statics.cc
c++ -g -o statics statics.cc
"$AGENT" run --quiet --output statics.heapcast -- ./statics
printf 'main;read;take 300\nmain;write 40\n' >some.collapsed
"$COLLECTOR" import --format collapsed --output imported.heapcast some.collapsed >import.says

# A stream that moves: its beginning is at a collector that dies.
begin_desk() { # NAME PORT
	"$COLLECTOR" gather --data "$T/$1" --no-discovery --listen "127.0.0.1:$2" >"$1.out" 2>"$1.err" &
	desk=$!
	wait_for 10 "$1 to listen" grep -q "listening on" "$1.out"
}
begin_desk one 8201
"$AGENT" run --policy block --quiet --collector 127.0.0.1:8201,127.0.0.1:8202 -- \
	"$BUILD/tests/e2e-paced" 400000 60000 "$T/moved" >paced.out 2>paced.err &
moving=$!
wait_for 30 "a part at the first, which is acknowledged each second" eval '[ "$(stat -c %s one/streams/*/recording.heapcast)" -gt 300000 ]'
kill -KILL "$desk"
begin_desk two 8202
wait_for 60 "the rest at the second" grep -q began two.out
wait_for 60 "the program to be done" grep -q "done" paced.out
touch moved
wait "$moving"
kill -TERM "$desk"
wait "$desk"
cp two/streams/*/recording.heapcast moved.heapcast

# A fleet of two, of which one does not answer.
"$COLLECTOR" gather --data "$T/data" --interface lo --http 127.0.0.1:18097 >collector.out 2>collector.err &
collector_pid=$!
wait_for 10 "the collector to listen" collector_listens
cat >work.py <<'PYTHON'
import sys, time, os
keep = []
while not os.path.exists(sys.argv[1]):
    keep.append(bytearray(5000))
    time.sleep(0.001)
PYTHON
for i in 1 2; do
	"$AGENT" run --policy block --announce --interface lo --quiet --tag site=berlin -- /usr/bin/python3 -S -E work.py "$T/enough" >"agent.$i.out" 2>"agent.$i.err" &
	agents[i]=$!
done
live() {
	[ "$(curl --silent http://127.0.0.1:18097/list | grep -o '"state":"live"' | wc -l)" = 2 ]
}
wait_for 20 "two live streams" live
kill -STOP "${agents[2]}"
source=$("$COLLECTOR" sql --csv small.heapcast "select distinct file from frames where file like '%/branches.c'" | tail -n 1)
"$COLLECTOR" serve --http 127.0.0.1:18096 --source "${source%/*}=$TEST_SOURCE/programs" ./*.heapcast >serve.out 2>serve.err &
server=$!
wait_for 20 "the server" grep -q 18096 serve.out

# Boards that differ, and one that can't be read.
"$BUILD/tests/made-fleet" "$T/made" 40 60 16 3 build
spoilt=("$T"/made/streams/*/)
"$BUILD/tests/made-fleet" "$T/made" 1 60 16 3 "" 1 86400 ahead
"$BUILD/tests/made-fleet" "$T/made" 2 60 16 3 "" 1 0 sampled 4096
rm -rf "${spoilt[0]}/columns"
printf 'nonsense' >"${spoilt[0]}/recording.heapcast"
"$COLLECTOR" serve --http 127.0.0.1:18098 --data "$T/made" >made.out 2>made.err &
made=$!
wait_for 20 "the server of made boards" grep -q 18098 made.out

cat >schemas.py <<'PYTHON'
import json, os, sys, threading, time, urllib.error, urllib.request
import jsonschema

sys.setrecursionlimit(20000) # a tree has its frames within each other

FILES, FLEET, MADE = "http://127.0.0.1:18096", "http://127.0.0.1:18097", "http://127.0.0.1:18098"
FILES_TOKEN = open("serve.out").read().split("#token=")[1].split()[0]
TOKEN = open("collector.out").read().split("#token=")[1].split()[0]
UNSEEN = {("maps", "left_out"), ("maps", "usage_left_out"), # more than 2^18 maps, 2^19 readings
          ("control_reply", "text"), # the agents of today say nothing to an order that is done
          ("source", "incomplete"), # no recording with losses has its sources here
          ("recording", "board"), # machines whose firmware and device tree have no name
          ("recordings", "incomplete"), # agents without a place: fleet-places.sh sees it
          # of a stream that moved: clickhouse-moved.sh sees it
          ("snapshot_process", "incomplete"),
          # what collectors share in a data base: clickhouse-gather.sh and clickhouse-snapshot.sh see it
          ("fleet_snapshot", "called"), *(("shared_stream", key) for key in (
              "architecture", "board", "build_id", "cgroup", "cmdline", "collector", "collector_address", "collector_away_since_ns", "events",
              "executable", "final_allocated", "final_allocated_count", "host", "id", "incomplete", "is_here", "is_snapshot", "name", "pid",
              "recording_bytes", "runtime", "state", "tags", "timestamp")),
          # two builds, of which one has another name for a function: renamed.sh sees it
          *(("diff_renamed", key) for key in ("base", "base_function", "function", "module", "new", "percent"))}
UNITS = {"bytes", "blocks", "ns", "ns since the epoch", "ms since the epoch", "s", "since the epoch", "since the start", "duration", "part", "id",
         "index", "tid", "address", "frames", "groups", "pages", "events", "events/s", "backtraces", "threads", "modules", "nodes", "rows", "maps",
         "readings", "bytes or blocks", "blocks of 65,536 allocations"}

def get(server, path, body=None):
    if body is None:
        request = urllib.request.Request(server + path)
    elif isinstance(body, str):
        request = urllib.request.Request(server + path, body.encode(), {"Content-Type": "text/plain"})
    else:
        request = urllib.request.Request(server + path, json.dumps(body).encode(), {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=100) as answer:
        return json.load(answer)

api = get(FILES, "/openapi.json")
schemas = api["components"]["schemas"]
seen, asked = set(), 0

def see(schema, value):
    """Notes which members of which kind of object are there."""
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    schema = schemas.get(name, schema)
    if "anyOf" in schema and value is not None:
        return see(schema["anyOf"][0], value)
    if isinstance(value, dict):
        for key, member in value.items():
            if name:
                seen.add((name, key))
            see(schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}, member)
    elif isinstance(value, list):
        for item in value:
            see(schema.get("items", {}), item)

def check(schema, value, what):
    global asked
    validator = jsonschema.Draft202012Validator(schema | {"components": api["components"]})
    for error in validator.iter_errors(value):
        sys.exit(f"{what}: {error.json_path}: {error.message[:300]}")
    see(schema, value)
    asked += 1

def schema_of(path, method="get"):
    return api["paths"][path][method]["responses"]["200"]["content"].get("application/json", {}).get("schema")

MORE = { # parameters beside none
    "timeline": ["points=7&by=site&bands=2", "points=7&by=backtrace", "points=7&by=module&weight=blocks", "by=custom"],
    "timeline_leaked": ["points=3"],
    "snapshot": ["at=50%25&by=backtrace", "by=function&skip=1&count=2"],
    "peak": ["by=backtrace"],
    "leaks": ["young=1ms", "count=1"],
    "histogram": ["value=leaked", "at=50%25"],
    "diff": ["base={base}&by=backtrace", "base=last@25%25&at=75%25", "base={base}&value=leaked"],
    "flame": ["reversed=true", "base={base}", "count=3", "value=peak&hide=yes"],
    "allocations": ["count=200&sort_by=size&order=dsc", "count=200&skip=100&chain_length_min=2", "count=100&lifetime=only_temporary"],
    "allocation_groups": ["generate_graphs=true&count=50", "size_min=1000"],
    "maps": ["with_regions=true&with_usage_history=true&generate_graphs=true", "lifetime=only_temporary&with_regions=true"],
    "fragmentation": ["at=50%25"],
    "regions": ["at=50%25"],
    "analyze": ["weight=blocks", "value=leaked"],
    "allocation_filter_to_script": ["size_min=100"],
    "map_filter_to_script": ["readable=only_true"],
    "sql": ["query=select%20*%20from%20allocations&count=3", "query=select%20null%20as%20x,1.5,%27a%27"],
}
MUST = {"tree": ["size_min=2000"], "backtraces": ["count=20"], "raw_allocations": ["count=20"], "source": [], "diff": ["base={base}"], "sql": ["query=select%201"], "allocations": ["count=100"]}

def ask_all(server, id, base):
    for path, methods in api["paths"].items():
        schema = schema_of(path) if "get" in methods else None
        if not schema or "{id}" not in path:
            continue
        name = path.removeprefix("/data/{id}/")
        numbers = [1, 2, 3, 4] if "{backtrace_id}" in path else [None]
        for query in MUST.get(name, [""]) + MORE.get(name, []):
            for number in numbers:
                url = path.replace("{id}", id).replace("{backtrace_id}", str(number)) + "?" + query.replace("{base}", base)
                try:
                    answer = get(server, url)
                except urllib.error.HTTPError as error:
                    assert number and error.code == 404, (url, error.code, error.read()) # it has fewer backtraces
                    continue
                check(schema, answer, url)

# ---- every schema is one, its references lead somewhere, and its units are known ----
for name, schema in schemas.items():
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False, name
    for key, member in schema["properties"].items():
        assert member.get("x-unit") is None or member["x-unit"] in UNITS, (name, key, member["x-unit"])

# ---- what needs the token on loopback says so ----
for path, methods in api["paths"].items():
    if path.endswith("/live") or path == "/events":
        continue
    for method, about in methods.items():
        request = urllib.request.Request(FILES + path.replace("{id}", "last").replace("{backtrace_id}", "1").replace("{file}", "1"), b"{}" if method == "post" else None,
                                         {"Content-Type": "application/json"}, method=method.upper())
        try:
            status = urllib.request.urlopen(request, timeout=100).status
        except urllib.error.HTTPError as error:
            status = error.code
        assert (status == 401) == ("security" in about) == ("401" in about["responses"]), (path, method, status, about)
used = json.dumps(api)
for name in schemas:
    assert f'"#/components/schemas/{name}"' in used, name
PAGE = "list events questions snapshots rights openapi.json {report} {timeline} {timeline_leaked} {snapshot} {peak} {leaks} {histogram} {diff} {flame} {backtrace/{backtrace_id}} " \
       "{allocations} {allocation_groups} {maps} {fragmentation} {regions} {timeline_maps} {fragmentation_timeline} {sql} {ledger} {analyze} {source} " \
       "{mallopts} {mmaps} {raw_allocations} {backtraces} {tree} {dynamic_constants} {dynamic_statics} {live} {allocation_filter_to_script} {map_filter_to_script}"
for word in PAGE.split():
    path = "/data/{id}/" + word[1:-1] if word[0] == "{" else "/" + word
    content = api["paths"][path]["get"]["responses"]["200"]["content"]
    assert "schema" in content.get("application/json", {}) or "x-event-data" in content.get("text/event-stream", {}), path

def check_totals(server, id):
    schema = api["paths"]["/data/{id}/live"]["get"]["responses"]["200"]["content"]["text/event-stream"]["x-event-data"]["schema"]
    with urllib.request.urlopen(f"{server}/data/{id}/live", timeout=100) as totals:
        check(schema, json.loads(next(line[6:] for line in totals if line.startswith(b"data: "))), "live")

# ---- recordings of all kinds ----
files = get(FILES, "/list")
base = min(files, key=lambda e: not e["executable"].endswith("branches"))["id"]
for entry in files:
    ask_all(FILES, entry["id"], base)
    check_totals(FILES, entry["id"])
check(schema_of("/list"), get(FILES, "/list"), "/list")
branches = next(e["id"] for e in files if e["executable"].endswith("branches"))
request = urllib.request.Request(f"{FILES}/data/{branches}/source?file={sys.argv[2]}", headers={"Authorization": f"Bearer {FILES_TOKEN}"})
check(schema_of("/data/{id}/source"), json.load(urllib.request.urlopen(request)), "source")
check(schema_of("/rights"), get(FILES, "/rights"), "/rights")
check(schema_of("/openapi.json"), api, "/openapi.json")
request = urllib.request.Request(FLEET + "/import?name=some", open("some.collapsed", "rb").read(), {"Content-Type": "application/octet-stream", "Authorization": f"Bearer {TOKEN}"})
with urllib.request.urlopen(request, timeout=100) as answer:
    check(schema_of("/import", "post"), json.load(answer), "POST /import")

for entry in files:
    for script in "select 1, 'a'; select 2", "select nothing":
        check(schema_of("/data/{id}/execute_script", "post"), get(FILES, f"/data/{entry['id']}/execute_script", script), "POST execute_script")

# ---- what is being answered ----
SLOW = "/data/last/sql?query=with%20recursive%20c(x)%20as%20(select%201%20union%20all%20select%20x%2B1%20from%20c)%20select%20count(*)%20from%20c&timeout=2s"
def slow():
    try:
        urllib.request.urlopen(FILES + SLOW, timeout=60).read()
    except urllib.error.HTTPError:
        pass
thread = threading.Thread(target=slow)
thread.start()
for _ in range(100):
    questions = get(FILES, "/questions")
    check(schema_of("/questions"), questions, "/questions")
    if questions:
        break
    time.sleep(0.02)
thread.join()

# ---- a fleet ----
watched = urllib.request.urlopen(FLEET + "/events", timeout=100)
def event():
    for line in watched:
        if line.startswith(b"data: "):
            data = json.loads(line[6:])
            check(api["paths"]["/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]["x-event-data"]["schema"], data, "/events")
            return data
event()
taken = get(FLEET, "/snapshot", {"name": "now", "timeout": 2})
assert len(taken["processes"]) == len(taken["missing"]) == 1, taken
check(schema_of("/snapshot", "post"), taken, "POST /snapshot")
check(schema_of("/snapshots"), get(FLEET, "/snapshots"), "/snapshots")
check(schema_of("/fleet"), get(MADE, "/fleet?last=50m"), "/fleet")
check(schema_of("/fleet"), get(MADE, "/fleet?select=host%3Dnobody"), "/fleet of nobody")
for query in ("by=function", "by=site&count=3", "by=backtrace", "select=host%3Dnobody"):
    check(schema_of("/fleet/top"), get(MADE, "/fleet/top?" + query), "/fleet/top?" + query)
live = taken["processes"][0]["stream"]
for order in {"action": "mark", "text": "here"}, {"action": "mode", "mode": "sample=4K"}, {"action": "mode", "mode": "full"}, {"action": "snapshot"}:
    check(schema_of("/data/{id}/control", "post"), get(FLEET, f"/data/{live}/control", order), f"POST control: {order}")
check_totals(FLEET, live)
for entry in get(FLEET, "/list"):
    ask_all(FLEET, entry["id"], entry["id"])
while not any("events_per_second" in entry for entry in event()["changed"]):
    pass
open(sys.argv[1], "w").close()

# ---- all of it was seen ----
declared = {(name, key) for name, schema in schemas.items() for key in schema["properties"]}
unseen = declared - seen - UNSEEN
assert not unseen, sorted(unseen)
assert not seen - declared, sorted(seen - declared)
assert not UNSEEN & seen, "seen after all"
print(f"{asked} answers of {len(schemas)} kinds, {len(declared)} members")
PYTHON
python3 schemas.py "$T/enough" "$source"

kill -CONT "${agents[2]}"
wait "${agents[@]}"
kill -TERM "$server" "$made" "$collector_pid"
wait "$server" "$made" "$collector_pid" || fail "a server ended with $?"
