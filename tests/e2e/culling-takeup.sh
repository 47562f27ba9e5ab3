#!/bin/bash
# The agent is killed while blocks wait to be culled and sums to be sent. All of that is lost, to the event, and the
# account of the next agent balances.
# ctest: LABELS full TIMEOUT 120
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup-held.sh"

takeup_held --short-lived 400ms
