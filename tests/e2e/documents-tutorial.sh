#!/bin/bash
# ctest: LABELS full TIMEOUT 300 COST 60
# The tutorial, from the board that grows to the fix: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
need g++ patch
documents docs/tutorial.md
