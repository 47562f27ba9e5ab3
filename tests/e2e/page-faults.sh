#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: what fails in one place, a question that takes long, a change of the theme.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
[ -x "$BUILD/tests/bench-generate" ] || skip "tests/bench-generate is not built"
"$AGENT" run --quiet --output "$T/sqlite3.heapcast" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sqlite3.said"
"$AGENT" run --quiet --output "$T/source" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sqlite3.said" # a generated one has its source's id
"$BUILD/tests/bench-generate" "$T/source" 32000000 "$T/large.heapcast" >"$T/generate.said"
serve_page "$T/sqlite3.heapcast" "$T/large.heapcast"
mapfile -t ids < <(curl -s "$page/list" | python3 -c 'import json, sys; [print(s["id"]) for s in json.load(sys.stdin)]')
play faults "${ids[0]}" "${ids[1]}"
