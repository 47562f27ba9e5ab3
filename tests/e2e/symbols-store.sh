#!/bin/bash
# Symbols that come late. A stripped program has no names. `symbols missing` says which file is wanted and what it
# hides. `symbols add` gives names, inlined frames and lines to what was recorded before, also in a server that runs.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-symbols.sh"
need curl
make_app
record_app
assert_nameless "a stripped program"
id=$(build_id "$T/app")

# 500 blocks of 48 bytes are still there, 1000 were allocated.
assert_status 1 ask symbols missing last >"$T/missing"
assert_contains "what is missing" "$T/missing" "$id" "$T/app" "no debug information here"
assert_status 1 ask symbols missing --json >"$T/missing.json"
python3 - "$T/missing.json" "$id" <<'PYTHON'
import json, sys
(app,) = [m for m in json.load(open(sys.argv[1]))["modules"] if m["build_id"] == sys.argv[2]]
assert app["streams"] == 1 and app["unnamed"] >= 2 and app["unnamed"] <= app["places"], app
assert app["allocations"] == 1000 and app["bytes"] == 48000, app
PYTHON

"$COLLECTOR" serve --data "$T/data" --http 127.0.0.1:18082 >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 10 "the server" grep -q 18082 "$T/serve.out"
served() {
	curl --silent --show-error --fail-with-body \
		"http://127.0.0.1:18082/data/last/allocations?size_min=48&size_max=48&count=1" >"$T/served.json"
	python3 - "$T/served.json" <<-'PYTHON'
		import json, sys
		(a,) = json.load(open(sys.argv[1]))["allocations"]
		print(*("%s:%s" % (f.get("function", "-"), f.get("line", 0)) for f in a["backtrace"] if f.get("library", "").endswith("/app")))
	PYTHON
}
case "$(served)" in *inner*) fail "the server knows names that nobody gave it" ;; esac

# What can't be added is named; what is there already is not copied again.
echo text >"$T/no-elf"
assert_status 3 ask symbols add "$T/no-elf" "$T/no-such" >"$T/add.out" 2>"$T/add.err"
assert_contains "what add says" "$T/add.err" "$T/no-elf: not an ELF file" "$T/no-such: No such file"
assert_status 2 ask symbols add 2>/dev/null
assert_status 2 ask symbols give 2>/dev/null
assert_status 0 "$COLLECTOR" symbols add --data "$T/no-data" "$T/app.full" >"$T/add.out"
assert_contains "what add says where there was no data folder" "$T/add.out" "1 added: $T/no-data/symbols"
mkdir -p "$T/build/deep/er"
objcopy --only-keep-debug "$T/app.full" "$T/build/deep/er/some.debug"
cp "$T/no-elf" "$T/build/"
ask symbols add "$T/build" "$T/app" >"$T/add.out"
assert_contains "what add says" "$T/add.out" "2 added"
ask symbols add "$T/build" >"$T/add.out"
assert_contains "what add says" "$T/add.out" "0 added, 1 there already"
kept=$T/data/symbols/.build-id/${id:0:2}/${id:2}
cmp "$T/build/deep/er/some.debug" "$kept.debug"
cmp "$T/app" "$kept"
[ -z "$(find "$T/data/symbols" -name '.adding*')" ] || fail "half-made copies were left"

ask symbols list >"$T/list"
grep -q "^$id  *yes  *yes  *yes .*$kept.debug" "$T/list" || fail "list: $(cat "$T/list")"
grep -q "^$id  *exported  *-  *- .*$kept\$" "$T/list" || fail "list: $(cat "$T/list")"
ask symbols list --json | python3 -c '
import json, sys
a, b = json.load(sys.stdin)["files"]
assert a["build_id"] == b["build_id"] == sys.argv[1] and {a["lines"], b["lines"]} == {True, False}, (a, b)' "$id"

# The same recording, now with names; the program itself may go.
rm "$T/app" "$T/app.full"
assert_named "after add"
wait_for 10 "names in the running server" sh -c "curl -s 'http://127.0.0.1:18082/data/last/allocations?size_min=48&size_max=48&count=1' | grep -q '\"inner\"'"
assert_contains "the served backtrace" <(served) "main:$LINE_MAIN outer:$LINE_OUTER middle:$LINE_MIDDLE inner:$LINE_INNER"
ask symbols missing --json >"$T/missing.json" || true
! grep -q "$id" "$T/missing.json" || python3 - "$T/missing.json" "$id" <<'PYTHON'
import json, sys
(app,) = [m for m in json.load(open(sys.argv[1]))["modules"] if m["build_id"] == sys.argv[2]]
assert app["allocations"] == 0, app # the code that crt1.o brought has no debug information
PYTHON

kill -TERM "$server"
wait "$server" || fail "serve ended with $?"
# What was looked up is kept: without any file the names remain.
rm -r "$T/data/symbols" "$T/build"
assert_named "from what was kept"
ask report last >"$T/report"
! grep -q "app: no file" "$T/report" || fail "a module whose names are kept is said to be missing"
