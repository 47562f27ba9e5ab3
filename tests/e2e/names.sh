#!/bin/bash
# A program is named by what people call it, also where that is a link to another file, or one of many programs in one
# file. The name is in the recording's file name (%e), the list, the report, JSON, the ledger and REST. A title that the
# program gives itself is no name.
. "$(dirname "$0")/lib.sh"
need python3 curl

mkdir "$T/bin"
ln -s "$TARGETS/churn" "$T/bin/called"
"$AGENT" run --output "$T/%e.1" -- "$T/bin/called" >/dev/null 2>"$T/run.err"
[ -s "$T/called.1" ] || fail "it is not called after the link: $(ls "$T")"
assert_contains "the summary" "$T/run.err" "called"
PATH=$T/bin:$PATH "$AGENT" run --quiet --output "$T/%e.2" -- bash -c "exec -a 'master: process (7)' '$TARGETS/churn'" >/dev/null
[ -s "$T/bash.2" ] || fail "it is not called after what was started: $(ls "$T")"
name() { "$COLLECTOR" report --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["process"]["name"])'; }
assert_eq "name of a link" called "$(name "$T/called.1")"
assert_eq "name of one with a title, after an exec" churn "$(name "$T/bash.2")"
printf '#!%s -u\nprint(1)\n' "$(python3 -c 'import sys; print(sys.executable)')" >"$T/bin/tool"
chmod +x "$T/bin/tool"
"$AGENT" run --quiet --output "$T/%e.5" -- "$T/bin/tool" >/dev/null
assert_eq "name of a script" tool "$(name "$T/tool.5")"
if command -v busybox >/dev/null && readelf -l "$(command -v busybox)" 2>/dev/null | grep -q INTERP; then
	ln -s "$(command -v busybox)" "$T/bin/sort"
	"$AGENT" run --quiet --output "$T/%e.3" -- "$T/bin/sort" /etc/passwd >/dev/null
	assert_eq "name of an applet" sort "$(name "$T/sort.3")"
fi
if command -v redis-server >/dev/null; then
	"$AGENT" run --quiet --output "$T/%e.4" -- redis-server --version >/dev/null
	assert_eq "name of redis" redis-server "$(name "$T/redis-server.4")"
fi
"$COLLECTOR" ledger "$T/called.1" >"$T/ledger.txt"
assert_contains "the ledger" "$T/ledger.txt" "  called, of $TARGETS/churn"

# Over the network.
start_collector
"$AGENT" run --announce --interface lo --quiet -- "$T/bin/called" >/dev/null
wait_collector
assert_contains "what gather says" <(cat "$T"/collector.{out,err}) "called (pid"
ask list >"$T/list.txt"
assert_contains "the list" "$T/list.txt" " called "
"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18092 >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18092 "$T/serve.out"
curl --silent --fail http://127.0.0.1:18092/list >"$T/list.json"
assert_contains "/list" "$T/list.json" '"name":"called"'
kill "$server"
wait "$server" || true
