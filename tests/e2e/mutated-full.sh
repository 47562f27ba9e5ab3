#!/bin/bash
# Sessions of agents and collectors played wrong, for an hour, under the sanitizers alone: lib-mutated.sh.
# ctest: LABELS "full;hours" TIMEOUT 7200 COST 4000
seed=${HEAPCAST_TEST_SEED:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-mutated.sh"
mutated_for "$seed" 3600
