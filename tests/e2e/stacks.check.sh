#!/bin/bash
# ctest: LABELS full
# What is recorded is what a walk in full would give, at every event of some programs; stacks.check-full.sh has more.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-stacks.sh"
PROGRAMS="lua5.4 git churn rise rise_new" LEAST=2
PER_PROGRAM=1 TOTAL=200000 work_once=1
. "$TEST_SOURCE/lib-stacks-check.sh"
