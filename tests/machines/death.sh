#!/bin/bash
# machines with --full: arm64 armhf mips64el
# Programs that are killed in the middle of what they do, on a board: by a signal, by the limit of a memory cgroup, and because the
# machine itself has no memory left. Every call that had returned is stored, thread by thread, and the recording says how it ended.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
need python3

cat >script <<'END_OF_SCRIPT'
limited=/sys/fs/cgroup/limited
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir $limited
echo 33554432 >$limited/memory.max

for n in 1 2 3 4 5 6; do
	./agent run --quiet --memory-limit $((2 + n % 3 * 3))M --output out/killed-$n -- \
		./e2e-witness out/killed-$n.truth $((1 + n % 3)) kill $((200 + n * 37))
	[ $? = 137 ] || exit 3
done

./agent run --output out/limited -- ./e2e-witness out/limited.truth 2 oom 100000 2>out/limited.err &
until program=$(pidof e2e-witness); do sleep 0.1; done
echo "$program" >$limited/cgroup.procs
wait $!
[ $? = 137 ] || exit 4
grep "^oom_kill [1-9]" $limited/memory.events || exit 5

./agent run --output out/full -- ./e2e-witness out/full.truth 2 oom 200000 2>out/full.err
[ $? = 137 ] || exit 6
END_OF_SCRIPT
in_machine 0 script "$(built bin/agent)" "$(built lib/libheapcast.so)" "$(built tests/e2e-witness)"

calls=0
for n in killed-{1..6} limited full; do
	expected="oom_killed 9 wait"
	[[ $n != killed-* ]] || expected="signalled 9 wait none"
	[[ $(end_of "$T/out/$n") == "$expected"* ]] || fail "$n ended as $(end_of "$T/out/$n")"
	nothing_lost "$T/out/$n" "$T/out/$n.truth" >figures
	read -r _ c _ <figures
	calls=$((calls + c))
done
for n in limited full; do
	assert_contains "the summary of $n" "out/$n.err" "for lack of memory (OOM killer)"
done
echo "$calls calls had returned, all of them are stored; ended by $(end_of "$T/out/limited"), and by $(end_of "$T/out/full")"
