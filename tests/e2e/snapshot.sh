#!/bin/bash
# A snapshot of a fleet: six programs in two builds on three agents, whose live heaps are known and which go on
# allocating. What is merged is the sum of its parts, block by block. A growth that was planted comes first in a diff.
# An agent that has been stopped is named. A snapshot can be listed, shown, reported, exported and removed, and
# retention leaves it alone.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-snapshot.sh"
need python3 curl
URL=http://127.0.0.1:18085
OTHER=$BUILD/tests/other/e2e-fleet
names="a1 b1 a2 b2 a3 b3"

for n in 1 2 3; do board $n; done
for n in 1 2 3; do wait_for 10 "agent serve" board_serves $n; done
gather_boards 1 2 3
wait_for 20 "three agents" eval '[ "$(grep -c ^connected "$T/gather.out")" = 3 ]'
assert_status 1 snapshot take nobody 2>"$T/nobody.txt"
assert_contains "a snapshot of nobody" "$T/nobody.txt" "nobody"
[ ! -e "$T/data/snapshots.sqlite" ] || fail "a snapshot of nobody was stored"
fleet a1 1 1000
fleet b1 1 20000
fleet a2 2 3000
fleet b2 2 1500 "$OTHER"
fleet a3 3 700 "$OTHER"
fleet b3 3 5000
# shellcheck disable=SC2086
fleet_says ready $names
wait_for 20 "six streams" eval '[ "$(grep -c began "$T/gather.out")" = 6 ]'

# ---- the first ----
snapshot take before --json >"$T/before.json" || fail "a snapshot of all: $(cat "$T/before.json")"
has "$T/before.json" 'a["name"] == "before" and len(a["processes"]) == 6 and a["missing"] == []'
has "$T/before.json" 'all(p["build_id"] and p["mark"] == 1 and p["executable"].endswith("/e2e-fleet") for p in a["processes"])'
has "$T/before.json" 'len({p["build_id"] for p in a["processes"]}) == 2 and a["took_ns"] < 5e9'
! unshare --uts true 2>/dev/null || has "$T/before.json" 'sorted({p["host"] for p in a["processes"]}) == ["board1", "board2", "board3"]'
# shellcheck disable=SC2086
assert_eq "what all hold, by their own word and in the snapshot," "$(truth ready $names)" "$(held snapshot:before)"

# Each part, and all of it: the other way to ask for the same moments.
python3 - "$T" "$COLLECTOR" <<'PYTHON'
import json, subprocess, sys
T, collector = sys.argv[1:]
def ask(*what):
    return json.loads(subprocess.run([collector, what[0], "--data", T + "/data", "--json", *what[1:]], check=True, capture_output=True).stdout)
a = json.load(open(T + "/before.json"))
sums, stacks = [0, 0], {}
for p in a["processes"]:
    alone = ask("top", "--at", f"{p['time_ns'] / 1e9:.9f}s", "--by", "backtrace", "--count", "100000", p["stream"])
    assert alone["total"] == p["in_use"], (p, alone["total"])
    sums = [sums[0] + p["in_use"]["blocks"], sums[1] + p["in_use"]["bytes"]]
    name = f"{p['host']}/e2e-fleet/{p['pid']}"
    part = ask("top", "--value", "in-use", "--thread-name", f"^{name}$", "snapshot:before")
    assert part["total"] == p["in_use"], (name, part["total"], p["in_use"])
whole = ask("top", "--value", "in-use", "--count", "100000", "--by", "backtrace", "snapshot:before")
assert whole["total"] == {"blocks": sums[0], "bytes": sums[1]}, (whole["total"], sums)
assert a["in_use"] == whole["total"], a["in_use"]
report = ask("report", "snapshot:before")
assert not report["process"].get("sampled"), report["process"]
# One program in two builds: the same function, once.
for by, rows in ("function", 1), ("site", 2):
    top = ask("top", "--value", "in-use", "--by", by, "--count", "1000", "snapshot:before")
    hold = [g for g in top["groups"] if g["function"] == "hold"]
    assert len(hold) == rows, (by, hold)
print(f"{sums[0]} blocks, {sums[1]} bytes in {whole['group_count']} backtraces of {len(a['processes'])} processes")
PYTHON

fits() { [ "$(wc -L <"$1")" -le 80 ] || fail "lines of more than 80 columns: $(cat "$1")"; }

# ---- the second, after a growth; one is missing ----
touch "$T/files/grow"
# shellcheck disable=SC2086
fleet_says grown $names
snapshot take after >"$T/after.txt" || fail "the second snapshot: $(cat "$T/after.txt")"
snapshot show after --json >"$T/after.json"
assert_contains "what take says" "$T/after.txt" "Snapshot after" "of 6 processes" "snapshot:after"
fits "$T/after.txt"
# shellcheck disable=SC2086
assert_eq "what all hold, by their own word and in the snapshot," "$(truth grown $names)" "$(held snapshot:after)"
"$COLLECTOR" diff --data "$T/data" --by function --json --base snapshot:before snapshot:after >"$T/diff.json"
python3 - "$T/diff.json" <<'PYTHON'
import json, sys
first = json.load(open(sys.argv[1]))["groups"][0]
assert first["function"] == "planted" and first["bytes"] == 6 * 3000 * 333 and first["blocks"] == 6 * 3000, first
PYTHON
kill -STOP "${served[3]}"
assert_status 1 snapshot --timeout 1s take partly --json >"$T/partly.json"
kill -CONT "${served[3]}"
has "$T/partly.json" 'len(a["processes"]) == 4 and len(a["missing"]) == 2'
has "$T/partly.json" 'all("not answered" in p["why"] and p["last_wall_ns"] > 1e18 for p in a["missing"])'
has "$T/partly.json" "sorted(p['pid'] for p in a['missing']) == sorted([${program[a3]}, ${program[b3]}])"
assert_eq "what the others hold" "$(truth grown a1 b1 a2 b2)" "$(held snapshot:partly)"
assert_status 0 snapshot show partly >"$T/show.txt"
assert_contains "what show says" "$T/show.txt" "Missing: e2e-fleet (pid ${program[a3]})" "HOST " "BUILD ID" "hold" "planted"
tr -s "\n " "  " <"$T/show.txt" | grep -q "has not answered in time" || fail "no reason: $(cat "$T/show.txt")"
fits "$T/show.txt"

# The same board is waited for: what it had in use at that time joins when its data has come.
kill -STOP "${served[3]}"
(sleep 3; kill -CONT "${served[3]}") &
assert_status 0 snapshot --timeout 1s take late --late 60s --json >"$T/late.json"
has "$T/late.json" 'len(a["processes"]) == 6 and a["missing"] == []'
has "$T/late.json" "sorted(p['pid'] for p in a['processes'] if p['late']) == sorted([${program[a3]}, ${program[b3]}])"
# shellcheck disable=SC2086
assert_eq "what all hold with those that were late" "$(truth grown $names)" "$(held snapshot:late)"
# Nobody comes within the bound.
kill -STOP "${served[3]}"
assert_status 1 snapshot --timeout 500ms take away --late 2s --json >"$T/away.json"
kill -CONT "${served[3]}"
has "$T/away.json" 'len(a["processes"]) == 4 and len(a["missing"]) == 2 and not any(p["late"] for p in a["processes"])'
snapshot remove away
snapshot remove late
assert_status 2 snapshot take never --every 5s --late 5s 2>"$T/wrong.txt"

# All have one clock: the offset is not greater than its error.
has "$T/after.json" 'all(abs(p["clock_offset_ns"]) <= p["clock_error_ns"] < 1e9 for p in a["processes"])'

# From one to the other: by device, by build, by function.
snapshot diff before after --json >"$T/changed.json"
has "$T/changed.json" 'sum(d["bytes"] for d in a["devices"]) == sum(b["bytes"] for b in a["builds"]) == a["bytes"]'
has "$T/changed.json" 'len(a["builds"]) == 2 and all(d["now_processes"] for d in a["devices"])'
has "$T/changed.json" 'a["groups"][0]["function"] == "planted" and a["groups"][0]["bytes"] == 6 * 3000 * 333'
snapshot diff after partly >"$T/changed.txt"
assert_contains "what diff says" "$T/changed.txt" "From after to partly" "Missing: 0 in after, 2 in partly" "By device" "gone, was" \
	"By build" "By function" "planted"
fits "$T/changed.txt"
assert_status 2 snapshot diff before 2>"$T/wrong.txt"
assert_status 2 snapshot diff before nothing 2>"$T/wrong.txt"

# A collector that has been stopped does not answer.
kill -STOP "$gather"
assert_status 3 snapshot --timeout 500ms take stopped 2>"$T/stopped.txt"
kill -CONT "$gather"
assert_contains "a collector that has been stopped" "$T/stopped.txt" "does not answer"

# Some, by their ids.
one=$("$COLLECTOR" list --data "$T/data" --json | python3 -c 'import json, sys
print(next(s["id"] for s in json.load(sys.stdin)["streams"] if s["pid"] == int(sys.argv[1])))' "${program[a1]}")
snapshot take some "${one:0:12}" --json >"$T/some.json"
has "$T/some.json" "[p['pid'] for p in a['processes']] == [${program[a1]}] and a['missing'] == []"
assert_eq "what it holds" "$(truth grown a1)" "$(held snapshot:some)"

# Sampled from now on: its estimates bear their error, the others are exact.
"$COLLECTOR" ctl --data "$T/data" "${one:0:12}" mode sample=64 >"$T/ctl.out"
sampled() { # a busy machine takes a while to get there
	snapshot remove sampled 2>"$T/removed.txt" || true
	snapshot take sampled --json >"$T/sampled.json" && grep -q '"samples"' "$T/sampled.json"
}
wait_for 20 "a sampled block in a snapshot" sampled
has "$T/sampled.json" "[p['pid'] for p in a['processes'] if 'samples' in p['in_use']] == [${program[a1]}] and a['in_use']['bytes_error'] > 0"
snapshot show sampled >"$T/show.txt"
assert_contains "what show says" "$T/show.txt" "+-ERROR"
fits "$T/show.txt"
COLUMNS=120 snapshot show sampled >"$T/show.txt"
assert_contains "a wide terminal" "$T/show.txt" "MARKER        CLOCK"
"$COLLECTOR" top --data "$T/data" --value in-use --json snapshot:sampled >"$T/top.json"
python3 - "$T" <<'PYTHON'
import json, sys
a, b = json.load(open(sys.argv[1] + "/sampled.json"))["in_use"], json.load(open(sys.argv[1] + "/top.json"))["total"]
assert a["bytes"] == b["bytes"] and a["blocks"] == b["blocks"] and a["samples"] == b["samples"], (a, b)
PYTHON

# ---- names, lists, other questions ----
assert_status 2 snapshot take before 2>"$T/taken.txt"
assert_contains "a name that is taken" "$T/taken.txt" "already"
for wrong in ".hidden" "a/b" "-x-" "a b" "$(printf 'x%.0s' {1..65})"; do
	assert_status 2 snapshot take -- "$wrong" 2>"$T/wrong.txt"
done
assert_status 2 snapshot take strange ffffffff 2>"$T/wrong.txt"
assert_status 2 snapshot fly 2>"$T/wrong.txt"
assert_status 2 snapshot show 2>"$T/wrong.txt"
assert_status 2 snapshot show nothing 2>"$T/wrong.txt"
assert_status 2 "$COLLECTOR" report --data "$T/data" snapshot:nothing 2>"$T/wrong.txt"
assert_contains "a snapshot that is not there" "$T/wrong.txt" "no snapshot"
snapshot take >"$T/unnamed.txt"
snapshot list >"$T/list.txt"
assert_contains "the list" "$T/list.txt" before after partly "$(date +%Y-%m-%dT)"
assert_eq "lines of the list" 7 "$(wc -l <"$T/list.txt")"
fits "$T/list.txt"
long=$(printf 'long-%.0s' {1..12})name
snapshot take "$long" >"$T/long.txt"
fits "$T/long.txt"
snapshot list >"$T/list.txt"
fits "$T/list.txt"
grep -qx "$long" "$T/list.txt" || fail "the long name has no line: $(cat "$T/list.txt")"
COLUMNS=140 snapshot list >"$T/list.txt"
grep -q "^$long 20" "$T/list.txt" || fail "a wide terminal has room for it: $(cat "$T/list.txt")"
snapshot remove "$long"
snapshot list --json >"$T/list.json"
has "$T/list.json" '[len(s["missing"]) for s in a["snapshots"]][2] == 2 and len(a["snapshots"]) == 6 and a["snapshots"][0]["name"] == "before"'
snapshot remove some
assert_status 2 snapshot show some 2>"$T/wrong.txt"
assert_eq "folders of streams and snapshots" 11 "$(find "$T/data/streams" -mindepth 1 -maxdepth 1 | wc -l)"
for command in report tree ledger "flamegraph --output -" "export --format collapsed" "leaks" "histogram" "timeline"; do
	# shellcheck disable=SC2086
	"$COLLECTOR" $command --data "$T/data" snapshot:before >"$T/out.txt" 2>"$T/out.err" || fail "collector $command: $(cat "$T/out.err")"
done
"$COLLECTOR" export --format collapsed --data "$T/data" snapshot:before >"$T/collapsed.txt" 2>"$T/out.err"
has "$T/before.json" "a['in_use']['bytes'] == $(awk '{ s += $NF } END { print s }' "$T/collapsed.txt")"
"$COLLECTOR" report --data "$T/data" --json last >"$T/last.json"
has "$T/last.json" '"snapshot:" not in json.dumps(a)'

# ---- REST ----
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18085 >"$T/serve.out" 2>"$T/serve.err" &
wait_for 20 "the server" grep -q 18085 "$T/serve.out"
TOKEN=$(token_in "$T/serve.out")
post() { # STATUS BODY CURL-ARG...
	local expected=$1 body=$2 got
	shift 2
	got=$(curl -s -m 30 -o "$T/answer" -w '%{http_code}' -H 'Content-Type: application/json' \
		-H "Authorization: Bearer $TOKEN" --data-binary "$body" "$@" "$URL/snapshot")
	assert_eq "status of $body $*: $(head -c 300 "$T/answer")," "$expected" "$got"
}
post 200 '{"name":"by-rest","timeout":20}'
has "$T/answer" 'a["name"] == "by-rest" and len(a["processes"]) == 6 and len(a["id"]) == 32'
post 409 '{"name":"by-rest"}'
post 400 '{"name":"../x"}'
post 400 '{"timeout":61}'
post 400 '{"late":3601}'
# Boards that are away are waited for, as with --late.
kill -STOP "${served[3]}"
(sleep 2; kill -CONT "${served[3]}") &
post 200 '{"name":"late-by-rest","timeout":1,"late":25}'
has "$T/answer" 'len(a["processes"]) == 6 and a["missing"] == []'
has "$T/answer" "sorted(p['pid'] for p in a['processes'] if p['late']) == sorted([${program[a3]}, ${program[b3]}])"
snapshot remove late-by-rest
post 400 '{"speed":1}'
post 400 '{"streams":"ffffffff"}'
post 403 '{}' -H 'Origin: http://example.org'
TOKEN=another post 401 '{}'
assert_eq "a form" 415 "$(curl -s -o "$T/answer" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" -d '{}' "$URL/snapshot")"
assert_eq "a GET" 405 "$(curl -s -o "$T/answer" -w '%{http_code}' "$URL/snapshot")"
curl -s "$URL/snapshots" >"$T/answer"
has "$T/answer" 'len(a) == 6 and a[-1]["name"] == "by-rest"'
curl -s "$URL/list" >"$T/answer"
has "$T/answer" 'sum(s["executable"].startswith("snapshot:") for s in a) == 6'
curl -s "$URL/data/snapshot:before/report" >"$T/answer"
has "$T/answer" "a['leaked']['bytes'] == $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["in_use"]["bytes"])' "$T/before.json")"
curl -s "$URL/openapi.json" >"$T/answer"
has "$T/answer" '"name" in a["paths"]["/snapshot"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]'

# ---- the end ----
touch "$T/files/end"
for name in $names; do wait "${program[$name]}"; done
wait_for 30 "six ends" eval '[ "$(grep -c " ended " "$T/gather.out")" = 6 ]'
assert_status 1 snapshot take late 2>"$T/late.txt"
kill -TERM "$gather"
wait "$gather"
assert_status 3 snapshot take late 2>"$T/late.txt"
assert_contains "no collector" "$T/late.txt" "collector gather"
[ -z "$(find "$T/data/streams" -name 'draft-*')" ] || fail "something was left"
# Old streams go, snapshots stay.
"$COLLECTOR" gather --data "$T/data" --no-discovery --listen 127.0.0.1:8199 --keep-for 1ms --for 20s >"$T/retain.out" 2>"$T/retain.err" &
wait_for 20 "old streams to go" eval '[ "$(find "$T/data/streams" -mindepth 1 -maxdepth 1 -name "[0-9a-f]*" | wc -l)" = 6 ]'
assert_status 0 snapshot show before >"$T/show.txt"
