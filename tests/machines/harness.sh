#!/bin/bash
# machines with --full: amd64-6.1
# tests/machines/run itself: exit status, output and files come over; what does not come to an end, and what it can't begin with, is said;
# nothing is left behind.
. "$(dirname "$0")/lib.sh"

cat >script <<'END'
echo "in /test:" *
echo "to the error output" >&2
ip addr show lo | grep -q 'inet 127.0.0.1' || exit 1
head -c 300000 /dev/urandom >out/random
sha256sum <out/random >out/sum
mkdir out/folder && : >"out/folder/with a space"
exit 7
END
in_machine 7 script "$COLLECTOR"
assert_contains "the output" said "in /test: collector out" "to the error output"
assert_eq "what came over" "$(cat out/sum)" "$(sha256sum <out/random)"
[ -e "out/folder/with a space" ] || fail "a file is missing"

ends_with_125() { # WHAT TEXT ARG...
	local what=$1 text=$2 status=0
	shift 2
	TMPDIR=$T env "${machine_folders[@]}" "$MACHINES_SOURCE/run" "$@" >said 2>err || status=$?
	assert_eq "exit status of $what" 125 "$status"
	assert_contains "$what" err "$text"
}
echo 'echo "here and no further"; sleep 1000' >hangs
ends_with_125 "a script that hangs" "not done after 20 s" --seconds 20 "$machine" hangs
assert_contains "its output" said "here and no further"
echo 'echo c >/proc/sysrq-trigger; sleep 1000' >panics
ends_with_125 "a kernel that panics" "stopped before the script's end" "$machine" panics
ends_with_125 "a machine that nobody knows" "there is no machine pdp11" pdp11 script
ends_with_125 "a file that is not there" "no such file: absent" "$machine" script absent

assert_eq "what is left behind" "" "$(ls -d "$T"/heapcast-machine.* 2>/dev/null || true)"
