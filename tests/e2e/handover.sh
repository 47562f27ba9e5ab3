#!/bin/bash
# Blocks that one thread allocates and another frees, at full speed: every pair is right.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-handover.sh"
handover 1 2
handover 4 4
