#!/bin/bash
# ctest: LABELS full
# The page lists the recordings of all collectors that share a data base, and says where each is; it compares the boards of all.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
. "$TEST_SOURCE/lib-clickhouse.sh"
need jq python3
clickhouse_need
clickhouse_one
store="clickhouse://default@$(clickhouse_hosts)/heaps"

# Another collector has eighteen recordings and this one three. Of one of the eighteen this one has the beginning: it moved.
"$BUILD/tests/made-fleet" "$T/all" 20 30 16 3 build
mkdir -p "$T/data/streams"
for stream in $(find "$T/all/streams" -mindepth 1 -maxdepth 1 | sort | head -n 3); do mv "$stream" "$T/data/streams/"; done
"$AGENT" run --output "$T/moved.heapcast" -- "$(type -P python3)" -c 'x = [bytes(500 + i % 99) for i in range(300000)]'
"$COLLECTOR" import --data "$T/all" "$T/moved.heapcast"
"$COLLECTOR" share --data "$T/all" --store "$store" --page-address http://127.0.0.1:18086
"$COLLECTOR" share --data "$T/data" --store "$store"
moved=$("$COLLECTOR" list --data "$T/all" --json | jq -r '.streams[] | select(.events > 100000).id')
mkdir "$T/data/streams/$moved"
head -c "$(($(stat -c %s "$T/moved.heapcast") / 2))" "$T/moved.heapcast" >"$T/data/streams/$moved/recording.heapcast"

serve_page --store "$store"
play shared "$(uname -n)"
