#!/bin/bash
# A program that its cgroup's limit of 32 MiB kills. Every call that had returned is stored, the end and its cause are
# in the stream, and the ring is charged to the agent's cgroup. 3 times, with --full 20.
# ctest: TIMEOUT 900
rounds=${HEAPCAST_TEST_FULL:+20} # lib.sh takes such variables away
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
. "$TEST_SOURCE/lib-cgroup.sh"
LIMIT=$((32 << 20))

cgroup_open
cgroup_make agent
cgroup_make target $LIMIT
in_cgroup='echo $$ >"$0/cgroup.procs"; exec "$@"'

# What both are charged for while the program stops short of its limit, and what smaps calls the ring.
figures() {
	local ring
	ring=$(awk '/^[0-9a-f]+-/ { ring = /memfd:/ } ring && $1 == "Rss:" { sum += $2 } END { print sum * 1024 }' "/proc/$1/smaps")
	echo "cgroup of the agent: $(cgroup_usage agent) bytes, shared memory $(cgroup_shared agent); of the program: $(cgroup_usage target), shared memory $(cgroup_shared target); the ring has $ring"
	[ "$(cgroup_shared agent)" -ge "$ring" ] || fail "the ring is not charged to the agent's cgroup"
	[ "$ring" -gt 500000 ] || fail "the agent has no ring"
	[ "$(cgroup_shared target)" -lt $((ring / 8)) ] || fail "the program's cgroup is charged for shared memory"
}

sh -c "$in_cgroup" "$CGROUP/agent" "$AGENT" run --quiet --output "$T/rec" -- \
	sh -c "$in_cgroup" "$CGROUP/target" "$WITNESS" "$T/truth" 2 wait &
agent=$!
program_of() {
	program=$(grep -lx "e2e-witness" /proc/[0-9]*/comm 2>/dev/null | head -n 1 | tr -dc 0-9 || true)
	[ -n "$program" ]
}
wait_for 10 "the program to run" program_of
sleep 0.3
program_of
figures "$agent"
kill -KILL "$program"
status=0
wait "$agent" || status=$?
assert_eq "exit status after a kill by hand" 137 "$status"
assert_eq "the end by hand" "signalled 9 wait none" "$(end_of "$T/rec")"
rm -f "$T/rec" "$T/truth"

calls=0
for ((i = 0; i < ${rounds:-3}; i++)); do
	before=$(cgroup_kills target)
	status=0
	sh -c "$in_cgroup" "$CGROUP/agent" "$AGENT" run --output "$T/rec" -- \
		sh -c "$in_cgroup" "$CGROUP/target" "$WITNESS" "$T/truth" 2 oom 20000 2>"$T/run.err" || status=$?
	assert_eq "exit status of agent run (128 + SIGKILL)" 137 "$status"
	[ "$(cgroup_kills target)" -gt "$before" ] || fail "the OOM killer did not come"
	read -r kind number source counter <<<"$(end_of "$T/rec")"
	assert_eq "the end" "oom_killed 9 wait" "$kind $number $source"
	[[ $counter == cgroup_[12] ]] || fail "the cause was told by the counter \"$counter\""
	assert_contains "agent run's summary" "$T/run.err" "for lack of memory (OOM killer)"
	nothing_lost "$T/rec" "$T/truth" >"$T/figures"
	read -r _ c _ <"$T/figures"
	calls=$((calls + c))
	rm -f "$T/rec" "$T/truth"
done
# The same by a daemon in its own cgroup, which is not the program's parent.
sh -c "$in_cgroup" "$CGROUP/agent" "$AGENT" serve --policy block --socket "$T/socket" --output "$T/served" >"$T/serve.out" 2>"$T/serve.err" &
daemon=$!
wait_for 10 "the daemon's socket" test -S "$T/socket"
HEAPCAST_SOCKET=$T/socket LD_PRELOAD=$PRELOAD sh -c "$in_cgroup" "$CGROUP/target" "$WITNESS" "$T/truth" 2 oom 20000 2>"$T/program.err" &
wait $! 2>/dev/null || true
wait_for 10 "the end of the recording" end_of "$T/served"
[[ $(end_of "$T/served") == "oom_killed 9 p"* ]] || fail "the daemon has recorded the end as $(end_of "$T/served")"
nothing_lost "$T/served" "$T/truth" >"$T/figures"
echo "by a daemon: $(end_of "$T/served"); $(cat "$T/figures")"
kill "$daemon"
wait "$daemon" || true

echo "${rounds:-3} of ${rounds:-3} times ended by the OOM killer at $LIMIT bytes (told by $counter): $calls calls had returned, all of them are stored; peak of the agent's cgroup $(cgroup_peak agent) bytes, of the program's $(cgroup_peak target)"
