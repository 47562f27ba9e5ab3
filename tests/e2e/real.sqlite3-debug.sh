#!/bin/bash
# sqlite3 with debug information: the report names the callers of its allocation wrapper with file and line.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-real.sh"
sqlite3=$ROOT/build/sqlite3/sqlite3
[ -x "$sqlite3" ] || skip "deploy/build-sqlite3 could not build sqlite3 with debug information"
cp "$TEST_SOURCE/data/work.sql" "$T/stdin"
real_program "$sqlite3" :memory:
# What only passes on is hidden, and is said so.
real_names pcache1Alloc pcache1.c: "Hidden: mallocWithAlarm, sqlite3Malloc, sqlite3MemMalloc"
ask report last --hide none >"$T/none.txt"
assert_contains "collector report --hide none" "$T/none.txt" sqlite3MemMalloc mem1.c: "by mallocWithAlarm  malloc.c:" \
	"by sqlite3Malloc  malloc.c:" pcache1Alloc
ask top last >"$T/top.txt"
ask export last --format collapsed --hide none >"$T/collapsed.txt"
# Who asks the wrapper for memory: pages of the cache, and the statements that are compiled.
assert_contains "collector export --format collapsed" "$T/collapsed.txt" main sqlite3_step sqlite3VdbeExec pcache1Alloc \
	sqlite3RunParser sqlite3Malloc
