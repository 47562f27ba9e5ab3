# tests/targets/stress.cc under the check build: included by stress.sh and stress-full.sh, which give SECONDS_LONG.
[ -x "$BUILD/targets/stress" ] || skip "no C++ compiler was there at build time"
work_stress() {
	(
		renice -n 10 "$BASHPID" >/dev/null # other tests run beside the long one
		"$@" "$BUILD/targets/stress" "$SECONDS_LONG"
	)
}
recording=/dev/null # nobody reads it, and an hour of it would fill a disk
stacks_run "$CHECK" stress 1
cat "$T/stress.found" "$T/stacks.out"
stacks_sound stress
for thing in exceptions longjmps coroutines signals plugins; do
	[ "$(value_of $thing)" -gt $((SECONDS_LONG * 5)) ] || fail "only $(value_of $thing) $thing"
done
# Where a signal has come between the end of a coroutine and what it returns to (glibc's __start_context and setcontext
# change stacks, and their tables do not say so).
[ $(($(found stress truncated) * 1000)) -le "$(found stress compared)" ] || fail "more than one stack in 1,000 is truncated"
