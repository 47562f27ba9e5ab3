#!/bin/bash
# ctest: LABELS full TIMEOUT 300 COST 60
# Stories of programs that run, by their documented lines: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
need g++
documents docs/stories/daemon.md docs/stories/days.md docs/stories/services.md docs/stories/fleet.md
