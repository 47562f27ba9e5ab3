#!/bin/bash
# ctest: LABELS full TIMEOUT 1200 COST 400
# The page: every view of every kind of recording, in both themes and three widths.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
"$AGENT" run --quiet --output "$T/sqlite3.heapcast" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sqlite3.said"
"$AGENT" run --quiet --output "$T/empty.heapcast" -- "$TARGETS/waiting" 1 </dev/null >"$T/empty.said"
"$AGENT" run --quiet --mode sample=64K --output "$T/sampled.heapcast" -- sqlite3 :memory: <"$ROOT/deploy/workload.sql" >"$T/sampled.said"
serve_page "$T/sqlite3.heapcast" "$T/empty.heapcast" "$T/sampled.heapcast"
named=()
while IFS=$'\t' read -r id name; do named+=("$name=$id"); done < <(curl -s "$page/list" | python3 -c '
import json, sys
for n, s in zip(("whole", "empty", "sampled"), json.load(sys.stdin)): print(s["id"], n, sep="\t")')
play views "${named[@]}"
