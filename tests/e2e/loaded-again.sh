#!/bin/bash
# ctest: LABELS full TIMEOUT 600
# A program loads a library, calls it and unloads it, thousands of times. It is one file or two, under one name or two,
# at one address or at others, with build ids and without. (More rounds: loaded-again-full.sh.)
. "$(dirname "$0")/lib.sh"
TIMES=2000
. "$TEST_SOURCE/lib-loaded-again.sh"

again one often 1 stay - reload1.so
again moves seldom 1 move - reload1.so
again nameless often 1 stay - plain1.so
again turns seldom 2 stay - reload1.so reload2.so
again turns_move seldom 2 move - reload1.so reload2.so
again rebuilt seldom 2 stay ./p.so reload1.so reload2.so
again rebuilt_moves seldom 2 move ./p.so plain1.so plain2.so
