#!/bin/bash
# ctest: LABELS full
# A C++ program without frame pointers that is attached to: its call chains and numbers are those that libheapcast.so records.
. "$(dirname "$0")/lib-compare.sh"
[ -x "$TARGETS/compared" ] || skip "there is no C++ compiler"

both 7 "$TARGETS/compared" 40
# Before the kernel knows how to walk here the agent does, and gets to it late on a busy machine: a few stacks are cut then, or end
# where the program has gone on meanwhile.
compare full preloaded.heapcast attached.heapcast 0.01
assert_eq "stacks that were cut for their depth" 0 "$(sql attached.heapcast "select count(*) from stacks where text like '%[depth limit]%'")"

for run in 1 2; do
	once_attached sampled$run.heapcast 7 --mode sample=16K -- "$TARGETS/compared" 40
done
compare sampled preloaded.heapcast 16384 sampled1.heapcast sampled2.heapcast
