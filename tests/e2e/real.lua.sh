#!/bin/bash
# lua5.4: all of it goes through one realloc.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need lua5.4
real_program lua5.4 "$TEST_SOURCE/data/work.lua"
assert_eq "exit status of the script" 3 "$(cat "$T/recorded.status")"
real_names lua
