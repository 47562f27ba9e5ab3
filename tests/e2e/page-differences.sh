#!/bin/bash
# ctest: LABELS full
# The page says what differs between boards and builds: the same as `collector fleet`, its finding first.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-page.sh"

for plant in build board; do
	"$BUILD/tests/made-fleet" "$T/data" 40 60 16 3 "$plant"
	serve_page
	play differences "$plant"
	kill %%
	wait %% || true
	rm -rf "$T/data"
done
