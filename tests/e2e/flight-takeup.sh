#!/bin/bash
# The agent is killed while its flight recorder holds the live heap and the window. All of that is lost, to the event,
# and the account of the next agent balances.
# ctest: LABELS full TIMEOUT 120
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-takeup-held.sh"

takeup_held --flight 400ms
