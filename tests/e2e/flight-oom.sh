#!/bin/bash
# In a cgroup of 64 MiB, with a leak. The flight recorder delivers the live heap and the last 5 s before the OOM kill, 2
# times of 2. Near the limit it delivers before that, too. flight-oom-full.sh is the longer form.
# ctest: TIMEOUT 300 COST 60
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-flight.sh"
. "$TEST_SOURCE/lib-cgroup.sh"
. "$TEST_SOURCE/lib-flight-oom.sh"
need python3

flight_oom_open
for _ in 1 2; do
	flight_oom 5 80 300 8
done
