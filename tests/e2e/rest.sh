#!/bin/bash
# The REST API, asked as its users ask: curl, with the lines of the old README. Numbers are those of `collector report`.
. "$(dirname "$0")/lib.sh"
need curl python3 sqlite3
start_collector
printf 'create table t(a, b);\nwith recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)\ninsert into t select x, x || "" from c;\nselect count(*) from t;\n' >"$T/work.sql"
"$AGENT" run --policy block --announce --interface lo --quiet -- sqlite3 :memory: ".read $T/work.sql" >/dev/null
wait_collector

"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18081 >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18081 "$T/serve.out"
get() {
	curl --silent --show-error --fail-with-body "http://127.0.0.1:18081$1"
}

get /list >"$T/list.json"
get "/data/last/allocations?sort_by=size&order=dsc&count=3" >"$T/biggest.json"
get "/data/last/allocations?lifetime=only_leaked&function_regex=main&count=1000000" >"$T/leaked.json"
get "/data/last/allocations?skip=10&count=5" >"$T/page.json"
get "/data/last/allocations?size_min=1000&size_max=2000&count=1000000" >"$T/sizes.json"
get "/data/last/export/flamegraph?lifetime=only_leaked" >"$T/flame.svg"
ask report last --json >"$T/report.json"
ask leaks --suppress none last --json --function-regex main --count 100000 >"$T/leaks.json"

python3 - "$T" <<'PYTHON'
import json, sys, xml.dom.minidom
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
report, (entry,) = load("report"), load("list")
assert entry["executable"].endswith("sqlite3"), entry
assert entry["final_allocated"] == report["leaked"]["bytes"], entry
assert entry["final_allocated_count"] == report["leaked"]["blocks"], entry
for field in ("id", "cmdline", "architecture", "runtime", "timestamp"):
    assert field in entry, field

biggest = load("biggest")
sizes = [a["size"] for a in biggest["allocations"]]
assert len(sizes) == 3 and sizes == sorted(sizes, reverse=True), sizes
assert biggest["total_count"] == report["allocated"]["blocks"], biggest["total_count"]
for a in biggest["allocations"]:
    for field in ("id", "address", "address_s", "timestamp", "timestamp_relative", "timestamp_relative_p", "thread", "size",
                  "backtrace_id", "backtrace", "position_in_chain", "chain_length"):
        assert field in a, field
    assert a["backtrace"] and all("address" in f and "count" in f for f in a["backtrace"]), a

leaked = load("leaked")
assert sum(a["size"] for a in leaked["allocations"]) == load("leaks")["total"]["bytes"]
assert not any("deallocation" in a for a in leaked["allocations"])
assert len(load("page")["allocations"]) == 5
matched = load("sizes")
assert matched["allocations"] and all(1000 <= a["size"] <= 2000 for a in matched["allocations"])
assert len(matched["allocations"]) == matched["total_count"]
xml.dom.minidom.parse(f"{T}/flame.svg")
PYTHON

# What is wrong is named.
# On a connection that stays each answer comes at once: with head and body held back in turn one takes 40 ms.
python3 - <<'EOF' || fail "answers on one connection are held back"
import http.client, time
connection = http.client.HTTPConnection("127.0.0.1", 18081)
took = []
for _ in range(40):
    start = time.monotonic()
    connection.request("GET", "/data/last/report")
    connection.getresponse().read()
    took.append(time.monotonic() - start)
took.sort()
print(f"median {1000 * took[20]:.2f} ms, most {1000 * took[-1]:.2f}")
raise SystemExit(took[20] > 0.03)
EOF
timing=$(curl -s -D - -o "$T/timing.json" 'http://127.0.0.1:18081/data/last/allocations?count=1' | tr -d '\r' | sed -n 's/^server-timing: //ip')
[[ $timing =~ ^find\;dur=[0-9]+\.[0-9]+,\ answer\;dur=[0-9]+\.[0-9]+$ ]] || fail "where the time went: $timing"
assert_eq "status for a stream that is not there" 404 "$(curl -s -o "$T/404.json" -w '%{http_code}' http://127.0.0.1:18081/data/ffff/allocations)"
assert_eq "status for a parameter that is none" 400 "$(curl -s -o "$T/400.json" -w '%{http_code}' 'http://127.0.0.1:18081/data/last/allocations?size_min=many')"
assert_contains "the answer" "$T/400.json" size_min
for query in '&nope=1' 'size_min=1&&nope=1' '&&&nope=1&'; do # what follows an empty parameter counts
	assert_eq "status of $query" 400 "$(curl -s -o "$T/400.json" -w '%{http_code}' "http://127.0.0.1:18081/data/last/report?$query")"
	assert_contains "the answer" "$T/400.json" nope
done
for query in '' '&' '&&' 'size_min=1&&' 'size_min='; do
	assert_eq "status of $query" 200 "$(curl -s -o "$T/200.json" -w '%{http_code}' "http://127.0.0.1:18081/data/last/report?$query")"
done
assert_eq "status of nothing behind a question mark" 200 "$(curl -s -o "$T/200.json" -w '%{http_code}' 'http://127.0.0.1:18081/list?')"

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
