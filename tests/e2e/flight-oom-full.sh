#!/bin/bash
# In a cgroup of 64 MiB, with a leak of 0.8 MiB a second and 2,000 other events a second. The flight recorder delivers
# the live heap and the last 60 s before the OOM kill, 10 times of 10.
# ctest: LABELS full TIMEOUT 3000 COST 900
rounds=${HEAPCAST_TEST_ROUNDS:-10} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-flight.sh"
. "$TEST_SOURCE/lib-cgroup.sh"
. "$TEST_SOURCE/lib-flight-oom.sh"
need python3

flight_oom_open
for ((round = 1; round <= rounds; round++)); do
	flight_oom 60 13 250 40
done
echo "$rounds of $rounds" >&3
