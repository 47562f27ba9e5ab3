#!/bin/bash
# Debian's own sqlite3, as it comes: no debug information.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
need sqlite3
cp "$TEST_SOURCE/data/work.sql" "$T/stdin"
real_program sqlite3 :memory:
assert_eq "exit status of the SQL error" 1 "$(cat "$T/recorded.status")"
real_names sqlite3
