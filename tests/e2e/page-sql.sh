#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: the SQL console.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
"$AGENT" run --quiet --output "$T/sqlite3.heapcast" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sqlite3.said"
serve_page "$T/sqlite3.heapcast"
play sql "$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | head -n 1)"
