#!/bin/bash
# What was in use over time in bands: by call site, backtrace, module and named filters, as text, JSON and SVG, by command and over REST.
. "$(dirname "$0")/lib.sh"
need curl python3
"$AGENT" run --quiet --output "$T/x.heapcast" -- "$TARGETS/clients" phases
"$COLLECTOR" serve --data "$T/none" --http 127.0.0.1:18091 "$T/x.heapcast" >"$T/serve.out" 2>"$T/serve.err" &
wait_for 10 "the server" grep -q 18091 "$T/serve.out"
get() {
	curl --silent --show-error --fail-with-body --globoff "http://127.0.0.1:18091/data/last/$1"
}
timeline() {
	"$COLLECTOR" timeline "$@" "$T/x.heapcast"
}

custom=(--series "large:size_min=30000&size_max=30000" --series "all large:size_min=20000" --series "kept:lifetime=only_leaked")
encoded="series=large:size_min%3D30000%26size_max%3D30000&series=all%20large:size_min%3D20000&series=kept:lifetime%3Donly_leaked"
for by in site backtrace function module custom; do
	timeline --json --by $by --bands 2 --count 30 >"$T/$by.json"
	get "timeline?by=$by&bands=2&points=30" >"$T/rest-$by.json"
done
timeline --json --by site --bands 1 --count 30 >"$T/one.json"
timeline --json --by backtrace --weight blocks --value leaked --count 30 >"$T/blocks.json"
get "timeline_leaked?by=backtrace&weight=blocks&points=30" >"$T/rest-blocks.json"
timeline --json "${custom[@]}" --count 30 >"$T/named.json"
get "timeline?$encoded&points=30" >"$T/rest-named.json"
get "export/graph?by=backtrace&bands=2" >"$T/graph.svg"
get "export/graph/x.svg?by=custom&width=400&height=100" >"$T/small.svg"
timeline --by backtrace --bands 2 --output - >"$T/written.svg"
timeline --output "$T/plain.svg" >/dev/null
cmp "$T/graph.svg" "$T/written.svg" || fail "the picture of the command differs"
python3 - "$T" <<'PYTHON'
import json, sys, xml.dom.minidom
T = sys.argv[1]
load = lambda name: json.load(open(f"{T}/{name}.json"))
for name in ("site", "backtrace", "function", "module", "custom", "blocks", "named"):
    a, b = load(name), load("rest-" + name)
    assert a["series"] == b["series"], name
    key, whole = ("allocated_count", "allocated_count") if name == "blocks" else ("allocated_size", "allocated_size")
    for i, most in enumerate(a[whole]):
        assert sum(s[key][i] for s in a["series"]) == most, (name, i)
    assert all(max(s[key]) == s["most"] for s in a["series"]), name

# The largest first. Two call sites of one function are two backtraces.
most = lambda name: [s["most"] for s in load(name)["series"]]
traces = load("backtrace")["series"]
assert most("backtrace")[:3] == [4000000, 3000000, 1000000] and traces[-1]["name"] == "rest", traces
assert [s["name"] for s in traces[:-1]] == [f'{s["backtrace_id"]}: hold (clients.c:{s["line"]}) < {caller}' for s, caller in zip(traces, ("loads", "works"))]
sites = load("site")["series"]
assert [s["function"] for s in sites[:2]] == ["hold", "keeps"] and most("site")[:2] == [4000000, 1000000], sites
assert all(s["name"] == f'{s["function"]} (clients.c:{s["line"]})' for s in sites[:2])
assert [s["name"] for s in load("function")["series"][:2]] == ["hold", "keeps"]
assert load("module")["series"][0]["name"] == "clients" and load("module")["series"][0]["most"] >= 4000000
one = load("one")["series"]
assert [s["name"] for s in one] == [sites[0]["name"], "rest"] and one[1]["most"] == 1000000
# In the second phase the first band is what it is there: nothing of the first backtrace, all of the second and third.
i = max(range(len(traces[1]["allocated_size"])), key=lambda i: traces[1]["allocated_size"][i] + traces[2]["allocated_size"][i])
assert [s["allocated_size"][i] for s in traces[:3]] == [0, 3000000, 1000000]

# Leaked, temporary, and nothing else; named filters in their order, each block in the first that it fits.
usual = load("custom")["series"]
assert [s["name"] for s in usual] == ["leaked", "temporary"] and usual[0]["most"] >= 1000000 and usual[1]["most"] >= 4000000
named = load("named")["series"]
assert [s["name"] for s in named][:3] == ["large", "all large", "kept"] and [s["most"] for s in named][:2] == [3000000, 4000000]
assert 1000000 <= named[2]["most"] < 1100000
assert load("blocks")["series"][0]["most"] == 100

for name, bands in ("graph", len(traces)), ("small", 2), ("plain", 2):
    picture = xml.dom.minidom.parse(f"{T}/{name}.svg")
    shapes = picture.getElementsByTagName("polygon")
    assert len(shapes) == bands, (name, len(shapes))
titles = [t.firstChild.data for t in xml.dom.minidom.parse(f"{T}/graph.svg").getElementsByTagName("title")]
assert titles[0].endswith(", at most 3.81 MiB") and titles[-1].startswith("rest, at most"), titles
texts = [t.firstChild.data for t in xml.dom.minidom.parse(f"{T}/graph.svg").getElementsByTagName("text")]
assert all(s["name"] in texts for s in traces), texts
PYTHON

timeline --by site >"$T/text"
assert_contains "the legend" "$T/text" "A   3.81 MiB" "B    977 KiB" "hold (clients.c:" "keeps (clients.c:"
awk 'NR > 3 && length($0) > 80 { print; exit 1 }' "$T/text" || fail "wider than 80 columns"
assert_eq "rows of the graph" 18 "$(grep -c '^.\{10\} |' "$T/text")"
timeline --by module --weight blocks >"$T/text"
assert_contains "blocks" "$T/text" "A "

# What is wrong is named.
refused() { # QUERY PARAMETER TEXT
	assert_eq "status of $1" 400 "$(curl --silent --output "$T/answer" --write-out '%{http_code}' "http://127.0.0.1:18091/data/last/$1")"
	assert_contains "the answer to $1" "$T/answer" "\"parameter\":\"$2\"" "$3"
}
refused "timeline?by=colour" by "site, function, module, backtrace or custom"
refused "timeline?bands=0" bands "1 to 32"
refused "timeline?series=x" series "NAME:FILTER=VALUE"
refused "export/graph?series=x:size%3D3" series "no filter is called"
refused "export/graph?series=x:size_min%3D3&by=site" by "custom"
for wrong in "--by colour" "--bands 33" "--series x" "--series x:colour=red" "--by site --series x:size_min=1" "--weight pounds"; do
	# shellcheck disable=SC2086
	assert_status 2 timeline $wrong >/dev/null 2>"$T/err"
done
