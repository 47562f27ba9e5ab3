#!/bin/bash
# ctest: COST 20
# Processes in unusual states: a zombie, a thread of the kernel's, the agent itself, the first process of a namespace, a
# stopped one, and one that ends while the agent attaches to it. Each is recorded, or a message says why not. Nothing
# hangs.
. "$(dirname "$0")/lib-attach.sh"
need unshare python3
ROUNDS=50
LIMIT="timeout 120"

exact() { # FILE
	assert_eq "events of $1" $((21 * ROUNDS)) "$(ledger_value "$1" produced)"
	assert_eq "lost events of $1" 0 "$(ledger_value "$1" lost)"
}

target_ended() {
	local status=0
	wait "$target" || status=$?
	assert_eq "exit status of the program" 7 "$status"
}

refused() { # PID TEXT
	assert_status 3 $LIMIT "$AGENT" attach -p "$1" --output refused.heapcast 2>err
	assert_contains "the message" err "$2"
	assert_status 1 $LIMIT "$AGENT" attach --check -p "$1" >check.out
	tr -s ' \n' ' ' <check.out >words
	assert_contains "what --check says" words "$2"
}

echo "a zombie"
python3 -c 'import os, time
child = os.fork()
if not child:
    os._exit(0)
open("zombie.new", "w").write(str(child))
os.rename("zombie.new", "zombie")
time.sleep(1000)' &
wait_for 20 "the zombie" test -e zombie
wait_for 20 "it to end" grep -q '^State:.Z' "/proc/$(cat zombie)/status"
refused "$(cat zombie)" "it has ended, and waits for its parent to notice (a zombie)"

echo "the agent itself"
assert_status 2 $LIMIT bash -c 'exec "$0" attach -p $$ 2>err' "$AGENT"
assert_contains "the message" err "is an agent or a collector of ours"

if unshare --pid --fork --mount-proc true 2>/dev/null; then
	echo "the first process of a namespace"
	rm -f go
	unshare --pid --fork --mount-proc "$TARGETS/attached" "$T/go" 0 $ROUNDS &
	target=$!
	child_runs() { [ -n "$(cat /proc/$target/task/$target/children)" ]; }
	wait_for 20 "it to begin" child_runs
	child=$(tr -d ' ' </proc/$target/task/$target/children)
	wait_for 20 "it to wait" grep -q '(attached) S' "/proc/$child/stat"
	# The kernel tells numbers of the first namespace and of the agent's own.
	if [ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ]; then
		attach -p "$child" --output first.heapcast
		touch go
		target_ended
		attached_ended
		exact first.heapcast
	else
		refused "$child" "it is in a process namespace inside of the agent's"
		touch go
		target_ended
	fi
else
	echo "no namespace with a /proc of its own here, as in a chroot"
fi

echo "a stopped one"
rm -f go
"$TARGETS/attached" go 2 $ROUNDS &
target=$!
wait_for 20 "its threads" grep -q '^Threads:.3' /proc/$target/status
wait_for 20 "it to wait" grep -q '(attached) S' /proc/$target/stat
kill -STOP $target
$LIMIT "$AGENT" attach -p $target --for 1s --output stopped.heapcast --quiet 2>err || fail "it can't be recorded: $(cat err)"
assert_eq "its state" T "$(sed -n 's/^State:.\(.\).*/\1/p' /proc/$target/status)"
assert_eq "events while it is stopped" 0 "$(ledger_value stopped.heapcast produced)"
attach -p $target --output goes-on.heapcast
touch go
kill -CONT $target
target_ended
attached_ended
assert_eq "events when it goes on" $((3 * 21 * ROUNDS)) "$(ledger_value goes-on.heapcast produced)"

echo "one that ends meanwhile"
for tenths in 0 1 2 4 7; do
	sleep 0.$tenths &
	status=0
	$LIMIT "$AGENT" attach -p $! --output ending.heapcast --quiet 2>err || status=$?
	case $status in
	0) ;; # it was in time
	3) grep -qE "there is no process|has ended|it is ending|a zombie" err || fail "after 0.$tenths s: $(cat err)" ;;
	*) fail "after 0.$tenths s: status $status: $(cat err)" ;;
	esac
done

