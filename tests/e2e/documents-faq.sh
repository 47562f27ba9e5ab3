#!/bin/bash
# ctest: LABELS full TIMEOUT 300 COST 60
# The questions that people ask: each block of commands runs, and prints what is shown, in shape.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-documents.sh"
need g++
documents docs/faq.md
