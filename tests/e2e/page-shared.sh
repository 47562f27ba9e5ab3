#!/bin/bash
# ctest: LABELS full
# The page lists the recordings of all collectors that share a data base, and says where each is; it compares the boards of all.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
clickhouse_need
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"

# Another collector has twenty recordings, this one three of them.
"$BUILD/tests/made-fleet" "$T/all" 20 30 16 3 build
"$COLLECTOR" share --data "$T/all" --store "$store"
mkdir -p "$T/data/streams"
for stream in $(find "$T/all/streams" -mindepth 1 -maxdepth 1 | sort | head -n 3); do cp -r "$stream" "$T/data/streams/"; done

serve_page --store "$store"
play shared "$(uname -n)"
