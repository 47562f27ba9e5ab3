#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# Exceptions, jumps, coroutines, signals, plugins, in eight threads at random: what is recorded is what a walk in full gives.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
SECONDS_LONG=20
. "$TEST_SOURCE/lib-stress.sh"
