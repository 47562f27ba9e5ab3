#!/bin/bash
# Sessions of agents and collectors played wrong, some seconds of them: lib-mutated.sh.
# ctest: LABELS full TIMEOUT 600 COST 100
seed=${HEAPCAST_TEST_SEED:-} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-mutated.sh"
mutated_for "$seed" 8
