#!/bin/bash
# ctest: LABELS full TIMEOUT 1200
# A library that is loaded and unloaded 100,000 times.
. "$(dirname "$0")/lib.sh"
TIMES=100000
. "$TEST_SOURCE/lib-loaded-again.sh"

again one often 1 stay - reload1.so
again rebuilt_moves seldom 2 move ./p.so reload1.so reload2.so
