#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# The page: what docs/tutorial.md shows of its daemon, with its pictures.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"
need g++
g++ -std=c++17 -g -O2 -ffile-prefix-map="$ROOT/docs/tutorial=/src" -o metricd "$ROOT/docs/tutorial/metricd.cc"
"$AGENT" run --quiet --output metricd.heapcast -- ./metricd 6 >said
serve_page metricd.heapcast
play tutorial "$(curl -s "$page/list" | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | head -n 1)" "$token"
