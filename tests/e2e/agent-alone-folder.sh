#!/bin/bash
# Only LD_PRELOAD was typed, in one folder and then in another. Each file lies where its program was started, although
# both had the same agent. That agent holds none of the folders.
. "$(dirname "$0")/lib.sh"
for folder in one two; do
	mkdir "$T/$folder"
	(cd "$T/$folder" && LD_PRELOAD=$PRELOAD "$BUILD/tests/e2e-plain" >/dev/null) || assert_eq "exit status" 5 $?
done
for folder in one two; do
	wait_for 10 "the file in $folder" bash -c "$COLLECTOR ledger $T/$folder/heapcast_e2e-plain_*.heapcast"
	assert_eq "files in $folder" 1 "$(find "$T/$folder" -type f | wc -l)"
done
agents=0
for dir in /proc/[0-9]*; do
	grep -q "serve --for-pid" <(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
	grep -qsz "^HEAPCAST_TEST_MARK=$T\$" "$dir/environ" || continue
	agents=$((agents + 1))
	assert_eq "working folder of the agent" / "$(readlink "$dir/cwd")"
done
assert_eq "agents for both programs" 1 "$agents"
