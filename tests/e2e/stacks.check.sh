#!/bin/bash
# What is recorded is what a walk in full would give, at every event of the programs that are installed.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
PER_PROGRAM=1 TOTAL=500000 work_once=1
. "$TEST_SOURCE/lib-stacks-check.sh"
