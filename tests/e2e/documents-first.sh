#!/bin/bash
# ctest: TIMEOUT 300 COST 60
# The README, and attaching: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
need sqlite3
documents README.md docs/ebpf.md
