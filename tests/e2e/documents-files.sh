#!/bin/bash
# ctest: LABELS full TIMEOUT 300 COST 60
# Stories of recordings, by their documented lines: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
need g++ patch
documents docs/stories/ci.md docs/stories/colleague.md docs/stories/stripped.md docs/stories/languages.md
