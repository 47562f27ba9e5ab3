#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: from the fleet to the line that allocated, a range, a moment, a link for somebody else; filters, and long lists.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
"$AGENT" run --quiet --output "$T/sqlite3.heapcast" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sqlite3.said"
serve_page "$T/sqlite3.heapcast"
id=$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p')
play look "$id" sqlite3
play filters "$id"
play lists "$id"
