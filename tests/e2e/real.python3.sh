#!/bin/bash
# python3 with every object from malloc.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need python3
export PYTHONMALLOC=malloc PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
real_program python3 "$TEST_SOURCE/data/work.py"
assert_eq "exit status of the script" 7 "$(cat "$T/recorded.status")"
real_names python3
