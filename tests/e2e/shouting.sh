#!/bin/bash
# Text of agents, collectors and programs that could order a terminal, a log, a browser or another tool about. It never
# reaches one of these as it came: escape sequences, ends of lines, bytes that are no character, marks that turn the
# direction of text.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-resume.sh"
need python3

cat >"$T/harmless.py" <<'P'
# FILE...: UTF-8 with nothing in it that must not be shown; strings in JSON neither, when they are decoded.
import json, sys

def bad(c, lines):
    o = ord(c)
    return (o < 32 and c not in lines) or 127 <= o < 160 or o in (0x61c, 0x200e, 0x200f) or 0x2028 <= o <= 0x202e or 0x2066 <= o <= 0x2069

def texts(v):
    if isinstance(v, str):
        yield v
    elif isinstance(v, dict):
        for k in v:
            yield k
            yield from texts(v[k])
    elif isinstance(v, list):
        for e in v:
            yield from texts(e)

for path in sys.argv[1:]:
    data = open(path, "rb").read()
    assert data, path + " is empty"
    text = data.decode("utf-8")  # or it is none
    text = text.replace("\r\n", "\n") if path.endswith(".csv") else text
    wrong = sorted({hex(ord(c)) for c in text if bad(c, "\n\t")})
    assert not wrong, "%s has %s" % (path, wrong)
    if path.endswith(".json"):
        values = [json.loads(line) for line in text.splitlines()] if path.endswith("export.json") else [json.loads(text)]
        for t in texts(values):
            assert not any(bad(c, "") for c in t), "%s has %r" % (path, t)
P

# ---- from an agent, to everybody who asks a collector ----

"$BUILD/tests/e2e-shouting" 8155 >"$T/shouting.out" &
shouting=$!
gather shouted --no-discovery --listen off 127.0.0.1:8155
wait_for 20 "the stream" grep -q began "$T/shouted.log"
wait_for 20 "what it brings" eval '"$COLLECTOR" list --data "$T/shouted" | grep -q live'
"$COLLECTOR" ctl --data "$T/shouted" last mark hello >"$T/ctl.out" 2>"$T/ctl.err" && fail "the order was refused by its agent"
"$COLLECTOR" ctl --data "$T/shouted" --json last mark hello >"$T/ctl.json" 2>>"$T/ctl.err" || true
stop_gather shouted
wait "$shouting"
[ "$(cut -d' ' -f1 "$T/shouting.out")" -ge 20 ] || fail "it has not said much: $(cat "$T/shouting.out")"
cat "$T/ctl.out" >>"$T/ctl.err"
assert_contains "what gather says" "$T/shouted.log" "connected to 127.0.0.1:8155 (?[31m?]0;title?  line"
assert_eq "lines of list" 2 "$("$COLLECTOR" list --data "$T/shouted" | grep -v "^\*" | grep -c .)"

for command in list report top leaks temporary timeline tree histogram ledger maps flamegraph "symbols missing"; do
	name=${command// /-} stream=last
	[ "$command" != list ] && [ "$command" != "symbols missing" ] || stream=
	# shellcheck disable=SC2086
	"$COLLECTOR" $command --data "$T/shouted" $stream >"$T/$name.txt" 2>"$T/$name.err" || true
	[ "$command" = flamegraph ] || [ "$command" = report ] ||
		# shellcheck disable=SC2086
		"$COLLECTOR" $command --data "$T/shouted" --json $stream >"$T/$name.json" 2>>"$T/$name.err" || true
	cat "$T/$name.err" >>"$T/complaints.txt"
done
for format in collapsed speedscope heaptrack jemalloc gperftools massif callgraph json csv; do
	"$COLLECTOR" export --data "$T/shouted" --format $format last >"$T/export.$format" 2>>"$T/complaints.txt"
done
"$COLLECTOR" sql --data "$T/shouted" last "SELECT * FROM stacks" >"$T/sql.txt" 2>>"$T/complaints.txt" || true
"$COLLECTOR" analyze --data "$T/shouted" last >"$T/analyze.html" 2>>"$T/complaints.txt" || true
printf '.\n' >>"$T/complaints.txt"
rm -f "$T"/flamegraph.json "$T"/report.json

"$COLLECTOR" serve --data "$T/shouted" --http 127.0.0.1:8156 >"$T/serve.log" &
wait_for 10 "the server" grep -q Serving "$T/serve.log"
base=http://127.0.0.1:8156
for path in list "data/last/allocations" "data/last/allocation_groups" "data/last/maps" "data/last/tree" ""; do
	name=rest-$(tr / - <<<"$path")
	curl -sg "$base/$path" >"$T/$name.out"
	[[ "$(head -c 1 "$T/$name.out")" != [[{] ]] || mv "$T/$name.out" "$T/$name.json"
done

python3 "$T/harmless.py" "$T"/shouted.log "$T"/ctl.err "$T"/*.txt "$T"/*.json "$T"/export.* "$T"/rest-*.out "$T"/analyze.html >&3 2>&3 ||
	fail "something of it was let through"
for file in list.txt report.txt maps.txt rest-list.json; do
	grep -q "31m" "$T/$file" || fail "$file does not have the texts at all"
done

# What was received stays as it came.
need lz4
lz4 -dc "$(recording_of shouted "$(streams shouted)")" >"$T/raw"
grep -aqF $'\e]0;title\a' "$T/raw" || fail "the recording is not what came"

# ---- from a program, to its agent and to who runs it ----

name=$'\e]0;title\a\n\xff\xe2\x80\xae'
cp "$BUILD/tests/e2e-plain" "$T/$name"
"$AGENT" run --log info --output "$T/plain.heapcast" -- "$T/$name" 2>"$T/agent.err" >"$T/agent.out" || true
"$AGENT" serve --log info --config "" --socket "@shouting" 2>"$T/daemon.err" &
wait_for 10 "the daemon" grep -q "programs ask at" "$T/daemon.err"
HEAPCAST_SOCKET=@shouting LD_PRELOAD=$PRELOAD "$T/$name" 30 2>"$T/plain.err" >/dev/null || true
"$AGENT" ctl --socket @shouting status >"$T/status.txt"
"$AGENT" ctl --socket @shouting --json status >"$T/status.json"
"$COLLECTOR" report "$T/plain.heapcast" >"$T/plain.txt"
python3 "$T/harmless.py" "$T/agent.err" "$T/daemon.err" "$T/status.txt" "$T/status.json" "$T/plain.txt" >&3 2>&3 ||
	fail "something of a program's name was let through"
grep -q title "$T/agent.err" "$T/daemon.err" || fail "the log does not name the program"

# ---- from a collector, to an agent, and into the recording ----

"$AGENT" run --log debug --listen 127.0.0.1:8160 --linger 100ms --output "$T/marked.heapcast" -- "$BUILD/tests/e2e-rolling" 300 2000 "$T/end" \
	2>"$T/marked.err" >"$T/marked.out" &
agent=$!
wait_for 10 "the agent" grep -q "recording pid" "$T/marked.err"
"$BUILD/tests/e2e-shouting" --to 8160 >"$T/shouting.out"
touch "$T/end"
wait "$agent" || true
"$COLLECTOR" ledger "$T/marked.heapcast" >"$T/marked.txt"
"$COLLECTOR" ledger --json "$T/marked.heapcast" >"$T/marked.json"
python3 "$T/harmless.py" "$T/marked.err" "$T/marked.txt" "$T/marked.json" >&3 2>&3 || fail "something of a collector's was let through"
assert_contains "the mark" "$T/marked.json" '"by":"collector ?[31m?]0;title?  line' '"text":"/?[31m?]0;title?  line'
